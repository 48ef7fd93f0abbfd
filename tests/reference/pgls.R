# Reference values for parsimon.phylo from R's nlme::gls with ape's correlation structures.
# Run in this folder: PARSIMON_DATA=... Rscript pgls.R
# (Debian: r-base-core r-cran-ape r-cran-nlme r-cran-jsonlite)
# It writes pgls.json: versions and results. The trees and traits are the files phylo_* of the data
# folder; one column each is regressed on another, on logarithms where said. corPagel works with
# correlations, so that the depths of the tips enter as variances: weights = varFixed(~depth).
suppressMessages({library(ape); library(nlme); library(jsonlite)})
folder <- Sys.getenv("PARSIMON_DATA")

cases <- list(
  list(name = "anole", y = "HLL", x = "SVL", log = FALSE),
  list(name = "caper_oracle", y = "V1", x = "V2", log = FALSE),
  list(name = "carni70", y = "range", x = "size", log = TRUE),
  list(name = "geiger_geospiza", y = "wingL", x = "tarsusL", log = FALSE),
  list(name = "lizards", y = "matur.L", x = "mean.L", log = FALSE),
  list(name = "mammal", y = "homeRange", x = "bodyMass", log = TRUE),
  list(name = "primate", y = "Orbit_area", x = "Skull_length", log = TRUE),
  list(name = "shorebird", y = "Egg.Mass", x = "F.Mass", log = TRUE),
  list(name = "sunfish", y = "gape.width", x = "buccal.length", log = FALSE),
  list(name = "tropidurid", y = "newsize", x = "body_height", log = FALSE)
)
control <- glsControl(tolerance = 1e-13, msTol = 1e-14, msMaxIter = 500, maxIter = 500)

describe <- function(fit) {
  table <- summary(fit)$tTable
  list(coefficients = unname(coef(fit)), standard_errors = unname(table[, 2]),
       t = unname(table[, 3]), p = unname(table[, 4]), sigma = fit$sigma,
       log_likelihood = as.numeric(logLik(fit)), aic = AIC(fit), bic = BIC(fit))
}

read_case <- function(case) {
  tree <- read.tree(file.path(folder, paste0("phylo_", case$name, ".nwk")))
  data <- read.csv(gzfile(file.path(folder, paste0("phylo_", case$name, ".csv.gz"))))
  data <- data.frame(tip = as.character(data$tip), y = data[[case$y]], x = data[[case$x]])
  data <- data[complete.cases(data), ]
  if (case$log) { data$y <- log(data$y); data$x <- log(data$x) }
  rownames(data) <- data$tip
  tree <- drop.tip(tree, setdiff(tree$tip.label, data$tip), trim.internal = TRUE,
                   collapse.singles = FALSE)
  tree <- collapse.singles(tree, root.edge = FALSE)
  data <- data[tree$tip.label, ]
  data$depth <- diag(vcv(tree))
  list(tree = tree, data = data)
}

pagel <- function(given, value, fixed, method) {
  gls(y ~ x, given$data, correlation = corPagel(value, given$tree, fixed = fixed, form = ~tip),
      weights = varFixed(~depth), method = method, control = control)
}

estimated <- function(given, method) {
  for (start in c(0.5, 0.9, 0.1, 0.99)) {
    fit <- tryCatch(pagel(given, start, FALSE, method), error = function(e) NULL)
    if (!is.null(fit)) return(c(list(lambda = unname(coef(fit$modelStruct$corStruct,
                                                          unconstrained = FALSE))), describe(fit)))
  }
  NULL
}

martins <- function(given, method) {
  fit <- tryCatch(gls(y ~ x, given$data, method = method, control = control,
                      correlation = corMartins(1 / max(given$data$depth), given$tree, form = ~tip)),
                  error = function(e) NULL)
  if (is.null(fit)) return(NULL)
  c(list(alpha = unname(coef(fit$modelStruct$corStruct, unconstrained = FALSE))), describe(fit))
}

results <- list()
for (case in cases) {
  given <- read_case(case)
  ultrametric <- is.ultrametric(given$tree, tol = 1e-6)
  entry <- c(case, list(
    n = nrow(given$data), ultrametric = ultrametric,
    half = describe(pagel(given, 0.5, TRUE, "ML")),
    half_reml = describe(pagel(given, 0.5, TRUE, "REML")),
    ml = estimated(given, "ML"), reml = estimated(given, "REML")))
  if (ultrametric) entry$ou <- martins(given, "ML")
  states <- given$data$y
  names(states) <- given$data$tip
  if (is.binary(given$tree)) {
    made <- suppressWarnings(ace(states, given$tree, type = "continuous", method = "GLS",
                                 corStruct = corBrownian(1, given$tree)))
    below <- lapply(prop.part(given$tree), function(part) given$tree$tip.label[part])
    entry$ancestors <- list(tips = below, mean = unname(made$ace))
  }
  results[[case$name]] <- entry
  cat(case$name, nrow(given$data), ultrametric, entry$ml$lambda, entry$ml$log_likelihood, "\n")
}
write_json(list(versions = list(R = R.version.string, ape = as.character(packageVersion("ape")),
                                nlme = as.character(packageVersion("nlme"))), cases = results),
           "pgls.json", digits = NA, auto_unbox = TRUE, pretty = FALSE)
