# Writes tests.json: values of R's own tests that the functions of parsimon.evaluation must give.
# Run: Rscript tests.R > tests.json
depression <- list( # Hollander & Wolfe (1973), 29f; help page of wilcox.test
  a = c(1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30),
  b = c(0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29))
permeability <- list( # Hollander & Wolfe (1973), 69f; help page of wilcox.test
  a = c(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46),
  b = c(1.15, 0.88, 0.90, 0.74, 1.21))
plants <- split(PlantGrowth$weight, PlantGrowth$group)
sleepers <- data.frame(score = sleep$extra, method = sleep$group, fold = sleep$ID)

# Fearn (2021), table 4.6: accuracy of BPM, BPM-MKL2, SVM, SVM-MKL1, GBM on 22 chromosomes, in
# thousandths: whole numbers, so that rounding hides no ties.
chromosomes <- matrix(ncol = 5, byrow = TRUE, c(
  667, 700, 667, 673, 727, 700, 653, 687, 680, 760, 627, 640, 647, 680, 620,
  687, 647, 680, 667, 733, 587, 633, 640, 620, 647, 753, 747, 747, 760, 793,
  613, 633, 667, 647, 707, 553, 620, 600, 600, 673, 713, 753, 727, 740, 740,
  627, 707, 727, 693, 767, 513, 567, 513, 553, 587, 673, 693, 680, 673, 767,
  667, 673, 667, 680, 660, 660, 673, 693, 673, 693, 593, 627, 613, 633, 680,
  673, 747, 733, 720, 680, 707, 640, 680, 693, 687, 653, 667, 653, 647, 693,
  567, 660, 600, 627, 700, 713, 773, 727, 733, 760, 560, 627, 600, 567, 673,
  673, 733, 740, 700, 647))
against <- function(...) sapply(c(1, 3, 4, 5), function(j)
  wilcox.test(chromosomes[, 2], chromosomes[, j], exact = FALSE, ...)$p.value)

signed <- wilcox.test(depression$a, depression$b, paired = TRUE)
ranked <- wilcox.test(permeability$a, permeability$b)
oneway <- summary(aov(weight ~ group, PlantGrowth))[[1]]
repeated <- summary(aov(score ~ method + Error(fold), sleepers))[["Error: Within"]][[1]]
raw <- c(0.01, 0.02, 0.03, 0.04, 0.05, 0.9, 0.02)

array <- function(x) paste0("[", paste(format(x, digits = 15, trim = TRUE), collapse = ", "), "]")
number <- function(x) format(unname(x), digits = 15)
cat("{\n",
  '"version": "', R.version.string, '",\n',
  '"signed_rank": {"a": ', array(depression$a), ', "b": ', array(depression$b),
  ', "V": ', number(signed$statistic), ', "p": ', number(signed$p.value), "},\n",
  '"rank_sum": {"a": ', array(permeability$a), ', "b": ', array(permeability$b),
  ', "W": ', number(ranked$statistic), ', "p": ', number(ranked$p.value), "},\n",
  '"anova": {"groups": [', paste(sapply(plants, array), collapse = ", "),
  '], "F": ', number(oneway[1, "F value"]), ', "p": ', number(oneway[1, "Pr(>F)"]), "},\n",
  '"repeated": {"groups": [', array(sleep$extra[sleep$group == 1]), ", ",
  array(sleep$extra[sleep$group == 2]), '], "F": ', number(repeated[1, "F value"]),
  ', "p": ', number(repeated[1, "Pr(>F)"]), "},\n",
  '"chromosomes": {"first": ', array(chromosomes[, 2]), ', "others": [',
  paste(sapply(c(1, 3, 4, 5), function(j) array(chromosomes[, j])), collapse = ", "),
  '], "unpaired": ', array(against()), ', "paired": ', array(against(paired = TRUE)), "},\n",
  '"holm": {"raw": ', array(raw), ', "adjusted": ', array(p.adjust(raw, "holm")), "}\n}\n",
  sep = "")
