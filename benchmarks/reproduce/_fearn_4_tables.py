"""What Fearn (2021), chapter 4, prints: means and standard deviations over 50 splits, and p-values.

A p-value printed as "below 2.2e-16" is that number.
"""

from benchmarks.reproduce._fearn_tables import Figure

GAMMA_1, GAMMA_2 = "gamma-EP1", "gamma-EP2"
NU_SVM, C_SVM = "nu-SVM", "C-SVM"
ON_C, ON_NU, EP, GAMMA, SVM = "EP + C-SV", "EP + nu-SV", "EP", "gamma-EP", "SVM"

# Table 4.1: error and rows kept.
LINEAR = {
    "Sonar": {
        GAMMA_1: (Figure(0.248, 0.049), Figure(95.54, 15.09)),
        GAMMA_2: (Figure(0.237, 0.048), Figure(102.16, 13.51)),
        NU_SVM: (Figure(0.241, 0.053), Figure(74.08, 1.64)),
        C_SVM: (Figure(0.243, 0.048), Figure(89.68, 3.11)),
        ON_C: (Figure(0.231, 0.043), Figure(89.68, 3.11)),
        ON_NU: (Figure(0.243, 0.046), Figure(74.08, 1.64)),
        EP: (Figure(0.229, 0.046), Figure(124.80, 0.0)),
    },
    "Breast": {
        GAMMA_1: (Figure(0.035, 0.014), Figure(33.54, 9.99)),
        GAMMA_2: (Figure(0.032, 0.012), Figure(39.00, 11.16)),
        NU_SVM: (Figure(0.024, 0.009), Figure(40.92, 1.29)),
        C_SVM: (Figure(0.024, 0.010), Figure(43.32, 3.07)),
        ON_C: (Figure(0.039, 0.019), Figure(43.32, 3.07)),
        ON_NU: (Figure(0.042, 0.015), Figure(40.92, 1.29)),
        EP: (Figure(0.027, 0.011), Figure(341.4, 0.0)),
    },
}
# Tables 4.2 and 4.4: error, and log of the summed probabilities of the test rows' own classes.
KERNEL = {
    "Breast": {
        GAMMA: (Figure(0.038, 0.013), Figure(4.49, 0.005)),
        EP: (Figure(0.037, 0.013), Figure(4.49, 0.005)),
        SVM: (Figure(0.067, 0.022), None),
    },
    "Heart": {
        GAMMA: (Figure(0.171, 0.032), Figure(3.96, 0.012)),
        EP: (Figure(0.169, 0.030), Figure(3.95, 0.011)),
        SVM: (Figure(0.169, 0.027), None),
    },
    "Ionosphere": {
        GAMMA: (Figure(0.135, 0.032), Figure(4.09, 0.012)),
        EP: (Figure(0.134, 0.032), Figure(4.08, 0.011)),
        SVM: (Figure(0.071, 0.021), None),
    },
    "Pima": {
        GAMMA: (Figure(0.256, 0.026), Figure(4.92, 0.013)),
        EP: (Figure(0.239, 0.025), Figure(5.04, 0.020)),
        SVM: (Figure(0.236, 0.023), None),
    },
}
# Table 4.3, errors of gamma-EP against EP and against the SVM, and table 4.5, log probabilities.
P_ERROR = {
    "Breast": {EP: 0.87, SVM: 7.1e-13},
    "Heart": {EP: 0.87, SVM: 0.86},
    "Ionosphere": {EP: 0.92, SVM: 2.2e-16},
    "Pima": {EP: 2.7e-3, SVM: 1.2e-4},
}
P_LOG = {"Breast": 0.26, "Heart": 7.5e-6, "Ionosphere": 2.2e-4, "Pima": 2.2e-16}

# Table 4.6: accuracy with one chromosome left out, chromosomes 1 to 22.
BPM, BPM_MKL, SVM_MKL, BOOSTING = "BPM", "BPM-MKL2", "SVM-MKL1", "GBM"
# fmt: off
CHROMOSOMES = {
    BPM: (.667, .700, .627, .687, .587, .753, .613, .553, .713, .627, .513,
          .673, .667, .660, .593, .673, .707, .653, .567, .713, .560, .673),
    BPM_MKL: (.700, .653, .640, .647, .633, .747, .633, .620, .753, .707, .567,
              .693, .673, .673, .627, .747, .640, .667, .660, .773, .627, .733),
    SVM: (.667, .687, .647, .680, .640, .747, .667, .600, .727, .727, .513,
          .680, .667, .693, .613, .733, .680, .653, .600, .727, .600, .740),
    SVM_MKL: (.673, .680, .680, .667, .620, .760, .647, .600, .740, .693, .553,
              .673, .680, .673, .633, .720, .693, .647, .627, .733, .567, .700),
    BOOSTING: (.727, .760, .620, .733, .647, .793, .707, .673, .740, .767, .587,
               .767, .660, .693, .680, .680, .687, .693, .700, .760, .673, .647),
}
# fmt: on
MEANS = {
    BPM: Figure(0.645, 0.062),
    BPM_MKL: Figure(0.673, 0.053),
    SVM: Figure(0.668, 0.058),
    SVM_MKL: Figure(0.666, 0.052),
    BOOSTING: Figure(0.700, 0.052),
}
LOG_SUMS = {BPM: Figure(3.30, 0.029), BPM_MKL: Figure(3.24, 0.008)}
# Table 4.7: accuracy of BPM-MKL2 against the others; and its log probabilities against BPM's.
P_CHROMOSOMES = {BPM: 0.25, SVM: 0.96, SVM_MKL: 0.94, BOOSTING: 0.077}
P_CHROMOSOMES_LOG = 3.3e-9
