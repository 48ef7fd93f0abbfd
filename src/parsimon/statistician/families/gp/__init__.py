"""What the search over kernels finds: its answers, and their parts, variables and figures."""

from parsimon.statistician.families.gp._kernel_fit import KernelAnswer, KernelFit, fit_kernels
from parsimon.statistician.families.gp._kernel_result import KernelCandidate, KernelResult

__all__ = ["KernelAnswer", "KernelCandidate", "KernelFit", "KernelResult", "fit_kernels"]
