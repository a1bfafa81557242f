from kina_build.dedup import find_contamination as find_contamination
from kina_build.dedup import find_duplicates as find_duplicates
from kina_build.items import check as check
from kina_build.items import read_pool as read_pool
from kina_build.items import read_questions as read_questions
from kina_build.items import triage_keys as triage
from kina_build.ranking import rank as rank
from kina_build.release import build_release as build_release
from kina_build.release import verify_release as verify
from kina_build.report import write_report as write_report
from kina_build.scoring import ask as ask
from kina_build.scoring import read_responses as read_responses
from kina_build.scoring import score as score
from kina_build.selection import certify as certify
from kina_build.selection import sample as sample
from kina_build.selection import select as select
from kina_build.selection import share_budget as share_budget
from kina_build.selection import top_up as top_up
from kina_build.support import read_anchors as read_anchors
from kina_build.support import score_support as score_support
from kina_review import PayRule as PayRule
from kina_review import audit as audit
from kina_review import calibrate as calibrate
from kina_review import plan_payments as plan_payments
from kina_review import read_reviews as read_reviews
from kina_review import reconcile as reconcile
from kina_review import settle as settle

__all__ = [
    "PayRule",
    "__version__",
    "ask",
    "audit",
    "build_release",
    "calibrate",
    "certify",
    "check",
    "find_contamination",
    "find_duplicates",
    "plan_payments",
    "rank",
    "read_anchors",
    "read_pool",
    "read_questions",
    "read_responses",
    "read_reviews",
    "reconcile",
    "sample",
    "score",
    "score_support",
    "select",
    "settle",
    "share_budget",
    "top_up",
    "triage",
    "verify",
    "write_report",
]

__version__: str
