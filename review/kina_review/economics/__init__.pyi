"""The economics of a batch: how large the bonus must be, what it can cost, what it would change."""

from .bonus import collusion_bonus as collusion_bonus
from .bonus import least_bonus as least_bonus
from .budget import hold_budget as hold_budget
from .budget import worst_case as worst_case
from .calibrating import calibrate as calibrate
from .simulate import Population as Population
from .simulate import compare_schemes as compare_schemes
