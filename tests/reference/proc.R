# Reference values for parsimon.roc from R's pROC.
# Run in this folder: Rscript proc.R   (Debian: r-base-core r-cran-proc r-cran-jsonlite)
# It writes proc.json: the data it drew (rounded, so that text holds them exactly), the versions
# and the results. Bootstrap results carry the noise of 20000 resamples.
suppressMessages({library(pROC); library(jsonlite)})

measure <- function(y, first, second) {
  curve <- roc(y, first, levels = c(0, 1), direction = "<", quiet = TRUE)
  other <- roc(y, second, levels = c(0, 1), direction = "<", quiet = TRUE)
  paired <- roc.test(curve, other, method = "delong", paired = TRUE)
  greater <- roc.test(curve, other, method = "delong", paired = TRUE, alternative = "greater")
  fpr <- rev(1 - curve$specificities)
  tpr <- rev(curve$sensitivities)
  hull <- rev(chull(c(fpr, 1), c(tpr, 0)))          # closed below by (1, 0)
  hull <- setdiff(hull, length(fpr) + 1)
  hull <- hull[order(fpr[hull], tpr[hull])]
  best <- coords(curve, "best", best.method = "youden", best.weights = c(5, 0.1),
                 ret = c("threshold", "specificity", "sensitivity"), transpose = FALSE)
  set.seed(1)
  list(
    y = y, first = first, second = second,
    auc = c(auc(curve), auc(other)),
    variance = c(var(curve), var(other)), covariance = cov(curve, other),
    ci95 = as.numeric(ci.auc(curve, method = "delong")),
    ci80 = as.numeric(ci.auc(curve, method = "delong", conf.level = 0.8)),
    ci_bootstrap = as.numeric(ci.auc(curve, method = "bootstrap", boot.n = 20000,
                                     boot.stratified = TRUE, progress = "none")),
    paired_statistic = unname(paired$statistic), paired_p = paired$p.value,
    paired_ci = as.numeric(paired$conf.int), paired_p_greater = greater$p.value,
    fpr = fpr, tpr = tpr, thresholds = rev(curve$thresholds),
    hull_fpr = fpr[hull], hull_tpr = tpr[hull],
    best_cost_fn = 5, best_prevalence = 0.1, best = best
  )
}

set.seed(20110401)
n <- 90
y <- rep(c(0, 1), c(50, 40))
plain <- measure(y, round(rnorm(n) + 1.2 * y, 6), round(rnorm(n) + 0.8 * y, 6))
set.seed(7)
latent <- rnorm(n)
tied <- measure(y, round(latent + rnorm(n, sd = 0.5) + y), round(latent + 0.6 * y))

independent <- roc.test(
  roc(plain$y, plain$first, levels = c(0, 1), direction = "<"),
  roc(tied$y, tied$second, levels = c(0, 1), direction = "<"),
  method = "delong", paired = FALSE
)

set.seed(3)
species <- rep(c("ash", "elm", "oak", "yew"), c(12, 20, 9, 15))
scores <- round(matrix(rexp(4 * length(species)), ncol = 4), 1)
colnames(scores) <- c("ash", "elm", "oak", "yew")
for (k in seq_len(4)) scores[, k] <- round(scores[, k] + (species == colnames(scores)[k]), 1)

result <- list(
  versions = list(R = R.version.string, pROC = as.character(packageVersion("pROC"))),
  plain = plain, tied = tied,
  unpaired = list(statistic = unname(independent$statistic), p = independent$p.value,
                  degrees_of_freedom = unname(independent$parameter)),
  multiclass = list(y = species, scores = scores, labels = colnames(scores),
                    auc = as.numeric(multiclass.roc(species, scores)$auc))
)
write_json(result, "proc.json", digits = NA, auto_unbox = TRUE, matrix = "rowmajor", pretty = FALSE)
