"""The review desk: who reviews what, out to Label Studio or worksheets, back, and how far people agree."""

from .assignment import assign_reviewers as assign_reviewers
from .collection import collect_grades as collect_grades
from .collection import collect_reviews as collect_reviews
from .grading_plan import plan_graders as plan_graders
from .importing import import_reviews as import_reviews
from .planning import plan_assignments as plan_assignments
from .planning import report_status as report_status
from .profiles import measure_agreement as measure_agreement
from .profiles import profile_reviewers as profile_reviewers
