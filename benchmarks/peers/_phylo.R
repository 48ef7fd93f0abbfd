# Regression with Pagel's lambda by maximum likelihood in R: ape::corPagel and nlme::gls.
# Rscript _phylo.R TREE.nwk TABLE.csv REPEATS, with columns tip, x and y; prints one line of JSON.
# The tree and the table are read before the clock starts, and packages are loaded.
suppressPackageStartupMessages({ library(ape); library(nlme) })
given <- commandArgs(TRUE)
tree <- read.tree(given[1])
data <- read.csv(given[2], colClasses = c("character", "numeric", "numeric"))
rownames(data) <- data$tip
data <- data[tree$tip.label, ]
# corPagel takes correlations, so that tips of unequal depths need their variances as weights.
weights <- NULL
if (!is.ultrametric(tree, tol = 1e-6)) {
  data$depth <- node.depth.edgelength(tree)[seq_along(tree$tip.label)]
  weights <- varFixed(~depth)
}
seconds <- processor <- c()
for (turn in seq_len(as.integer(given[3]))) {
  begin <- Sys.time()
  used <- proc.time()
  fit <- gls(y ~ x, data, correlation = corPagel(0.5, tree, form = ~tip), weights = weights,
             method = "ML")
  seconds <- c(seconds, as.numeric(difftime(Sys.time(), begin, units = "secs")))
  processor <- c(processor, sum((proc.time() - used)[c("user.self", "sys.self")]))
}
numbers <- function(values) paste0("[", paste(sprintf("%.15g", values), collapse = ","), "]")
status <- if (file.exists("/proc/self/status")) readLines("/proc/self/status") else character()
peak <- as.numeric(gsub("[^0-9]", "", grep("^VmHWM", status, value = TRUE)))
cat(sprintf("{\"seconds\": %s, \"processor\": %s, ", numbers(seconds), numbers(processor)))
cat(sprintf("\"lambda\": %.15g, \"coefficients\": %s, \"log_likelihood\": %.15g, ",
            coef(fit$modelStruct$corStruct, unconstrained = FALSE), numbers(coef(fit)),
            as.numeric(logLik(fit))))
cat(sprintf("\"kilobytes\": %s, \"versions\": \"R %s, ape %s, nlme %s, %s\"}\n", numbers(peak),
            getRversion(), packageVersion("ape"), packageVersion("nlme"),
            basename(extSoftVersion()[["BLAS"]])))
