# Reference values for parsimon.phylo from R's phytools and ape.
# Run in this folder: Rscript phylo_traits.R
# (Debian: r-base-core r-cran-ape r-cran-phytools r-cran-jsonlite)
# It writes phylo_traits.json: versions, and for each of three simulated trees (all tips equally
# deep; tips of all depths; a polytomy) the tree, four traits that evolved along it, and results of
# vcv, phyl.pca, phylosig and fastAnc. phyl.pca and phylosig seek lambda with optimize() and its
# default tolerance, about 1e-4 of the range: heights are stored beside it.
suppressMessages({library(ape); library(phytools); library(jsonlite)})
set.seed(20260115)

simulated <- list(
  ultrametric = pbtree(n = 40, scale = 2),
  uneven = rtree(25),
  polytomy = read.tree(text = paste0(
    "((a:1.2,b:0.7,c:1.5,d:0.4):0.6,(e:0.9,(f:0.5,g:0.8,h:0.3):0.4,i:1.1):0.3,",
    "((j:0.6,k:1.3):0.5,l:0.9,(m:0.7,n:0.2):0.8):0.2);")))

traits_of <- function(tree) {
  n <- length(tree$tip.label)
  # Half of the tree in the traits, mixed so that columns depend on each other.
  V <- vcv(tree)
  V <- 0.5 * V + 0.5 * diag(diag(V))
  white <- matrix(rnorm(4 * n), n)
  Y <- t(chol(V)) %*% white %*% matrix(rnorm(16), 4)
  Y <- sweep(Y, 2, c(3, -1, 0, 10), "+")
  dimnames(Y) <- list(tree$tip.label, paste0("t", 1:4))
  Y
}

described <- function(made) {
  list(values = unname(diag(made$Eval)), vectors = unname(made$Evec), loadings = unname(made$L),
       scores = unname(made$S), rates = unname(made$V), root = as.numeric(made$a),
       lambda = made$lambda, log_likelihood = made$logL.lambda)
}

below <- function(tree, node) {
  inside <- getDescendants(tree, node)
  tree$tip.label[inside[inside <= length(tree$tip.label)]]
}

results <- list()
for (name in names(simulated)) {
  newick <- write.tree(simulated[[name]], digits = 17)
  tree <- read.tree(text = newick)
  Y <- traits_of(tree)
  x <- Y[, 1]
  pca <- list()
  for (mode in c("cov", "corr")) {
    pca[[mode]] <- list(
      BM = described(phyl.pca(tree, Y, method = "BM", mode = mode)),
      half = described(phyl.pca(tree, Y, method = "lambda", mode = mode, opt = "fixed",
                                lambda = 0.5)),
      lambda = described(phyl.pca(tree, Y, method = "lambda", mode = mode)))
  }
  signal <- lapply(1:4, function(j) {
    found <- phylosig(tree, Y[, j], method = "lambda", test = TRUE)
    list(K = as.numeric(phylosig(tree, Y[, j], method = "K")), lambda = found$lambda,
         log_likelihood = found$logL, log_likelihood_without = found$logL0, p = found$P)
  })
  nodes <- length(tree$tip.label) + seq_len(tree$Nnode)
  made <- fastAnc(tree, x, vars = TRUE, CI = TRUE)
  results[[name]] <- list(
    newick = newick, tips = tree$tip.label, traits = unname(Y), vcv = unname(vcv(tree)),
    greatest_lambda = phytools:::maxLambda(tree), pca = pca,
    signal = signal,
    ancestors = list(tips = lapply(nodes, function(node) below(tree, node)),
                     mean = unname(made$ace[as.character(nodes)]),
                     variance = unname(made$var[as.character(nodes)]),
                     interval = unname(made$CI95[as.character(nodes), ])))
  cat(name, results[[name]]$greatest_lambda, pca$cov$lambda$lambda,
      sapply(signal, function(one) one$lambda), "\n")
}
write_json(list(versions = list(R = R.version.string, ape = as.character(packageVersion("ape")),
                                phytools = as.character(packageVersion("phytools"))),
                cases = results),
           "phylo_traits.json", digits = NA, auto_unbox = TRUE, pretty = FALSE)
