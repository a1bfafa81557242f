"""The tournament of an item's two reviews: who counts, who wins, what becomes of the item."""

from .contest import average_grades as average_grades
from .contest import compare as compare
from .contest import compare_audited as compare_audited
from .contest import score_of as score_of
from .decisions import decide_items as decide_items
from .payrules import build_pay_rule as build_pay_rule
from .payrules import read_pay_rules as read_pay_rules
from .payrules import rule_at as rule_at
from .screening import screen as screen
from .settlement import Settlement as Settlement
from .settlement import Terms as Terms
