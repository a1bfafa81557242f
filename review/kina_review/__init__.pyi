"""The review side: assignment, tournament, pay and its economics. The door of the package, loaded lazily."""

from .economics.calibrating import calibrate as calibrate
from .economics.options import CalibrateOptions as CalibrateOptions
from .library import PayRule as PayRule
from .library import audit as audit
from .library import plan_payments as plan_payments
from .library import read_reviews as read_reviews
from .library import reconcile as reconcile
from .library import settle as settle
from .records import Finding as Finding
from .records import Grade as Grade
from .records import Review as Review
from .rubric import ReviewRules as ReviewRules
