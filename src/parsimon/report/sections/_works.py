"""The works that reports cite."""

from collections.abc import Iterable

_WORKS = {
    "Bates et al. 2023": "Bates, Hastie and Tibshirani (2023). Cross-validation: what does it "
    "estimate and how well does it do it? J. Am. Stat. Assoc. 119:1434–1445.",
    "Blomberg et al. 2003": "Blomberg, Garland and Ives (2003). Testing for phylogenetic signal in "
    "comparative data: behavioral traits are more labile. Evolution 57:717–745.",
    "Breiman et al. 1984": "Breiman, Friedman, Olshen and Stone (1984). Classification and "
    "Regression Trees. Wadsworth.",
    "Clark 2011": "Clark (2011). Multi-Objective ROC Learning for Classification. PhD thesis, "
    "University of Exeter.",
    "Cox 1958": "Cox (1958). Two further applications of a model for binary regression. Biometrika "
    "45:562–565.",
    "DeLong et al. 1988": "DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two "
    "or more correlated receiver operating characteristic curves. Biometrics 44:837–845.",
    "Dempster et al. 1977": "Dempster, Laird and Rubin (1977). Maximum likelihood from incomplete "
    "data via the EM algorithm. J. R. Stat. Soc. B 39:1–38.",
    "Duvenaud et al. 2013": "Duvenaud, Lloyd, Grosse, Tenenbaum and Ghahramani (2013). Structure "
    "discovery in nonparametric regression through compositional kernel search. ICML "
    "30:1166–1174.",
    "Fawcett 2006": "Fawcett (2006). An introduction to ROC analysis. Pattern Recogn. Lett. "
    "27:861–874.",
    "Fearn 2021": "Fearn (2021). Novel Methods for Approximate Bayesian Inference of Independent "
    "and Evolutionarily Dependent Data. PhD thesis, University of Bristol.",
    "Felsenstein 1985": "Felsenstein (1985). Phylogenies and the comparative method. Am. Nat. "
    "125:1–15.",
    "Grafen 1989": "Grafen (1989). The phylogenetic regression. Phil. Trans. B 326:119–157.",
    "He 2016": "He (2016). The Automatic Statistician for Classification. Report, University of "
    "Cambridge.",
    "Hensman et al. 2015": "Hensman, Matthews and Ghahramani (2015). Scalable variational Gaussian "
    "process classification. AISTATS 18:351–360.",
    "Holm 1979": "Holm (1979). A simple sequentially rejective multiple test procedure. Scand. J. "
    "Stat. 6:65–70.",
    "Kass and Raftery 1995": "Kass and Raftery (1995). Bayes factors. J. Am. Stat. Assoc. "
    "90:773–795.",
    "Martins and Hansen 1997": "Martins and Hansen (1997). Phylogenies and the comparative method: "
    "a general approach to incorporating phylogenetic information into the analysis of "
    "interspecific data. Am. Nat. 149:646–667.",
    "Meinshausen and Bühlmann 2010": "Meinshausen and Bühlmann (2010). Stability selection. J. R. "
    "Stat. Soc. B 72:417–473.",
    "Mierswa 2009": "Mierswa (2009). Non-Convex and Multi-Objective Optimization in Data Mining. "
    "Dissertation, TU Dortmund.",
    "Minka 2001": "Minka (2001). Expectation propagation for approximate Bayesian inference. UAI "
    "17:362–369.",
    "Nadeau and Bengio 2003": "Nadeau and Bengio (2003). Inference for the generalization error. "
    "Machine Learning 52:239–281.",
    "Nogueira et al. 2018": "Nogueira, Sechidis and Brown (2018). On the stability of feature "
    "selection algorithms. JMLR 18(174):1–54.",
    "Pagel 1999": "Pagel (1999). Inferring the historical patterns of biological evolution. Nature "
    "401:877–884.",
    "Rasmussen and Williams 2006": "Rasmussen and Williams (2006). Gaussian Processes for Machine "
    "Learning. MIT Press.",
    "Roberts et al. 2017": "Roberts et al. (2017). Cross-validation strategies for data with "
    "temporal, spatial, hierarchical, or phylogenetic structure. Ecography 40:913–929.",
    "Sakoe and Chiba 1978": "Sakoe and Chiba (1978). Dynamic programming algorithm optimization "
    "for spoken word recognition. IEEE Trans. Acoust. Speech Signal Process. 26:43–49.",
    "Schmolck and Everson 2007": "Schmolck and Everson (2007). Smooth relevance vector machine: a "
    "smoothness prior extension of the RVM. Machine Learning 68:107–135.",
    "Shah and Samworth 2013": "Shah and Samworth (2013). Variable selection with error control. J. "
    "R. Stat. Soc. B 75:55–80.",
    "Tipping 2001": "Tipping (2001). Sparse Bayesian learning and the relevance vector machine. "
    "JMLR 1:211–244.",
    "Tusher et al. 2001": "Tusher, Tibshirani and Chu (2001). Significance analysis of microarrays "
    "applied to the ionizing radiation response. PNAS 98:5116–5121.",
    "Williams and Barber 1998": "Williams and Barber (1998). Bayesian classification with Gaussian "
    "processes. IEEE PAMI 20:1342–1351.",
}


def in_full(cited: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return works in their order, short and in full, from their short forms."""
    return tuple((short, _WORKS[short]) for short in sorted(cited))
