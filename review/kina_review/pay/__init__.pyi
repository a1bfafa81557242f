"""Money: the ledger, payments and their evidence, audits, statements."""

from .book.ledger import Ledger as Ledger
from .book.opening import create_ledger as create_ledger
from .book.opening import open_ledger as open_ledger
from .drawing import assess_audit as assess_audit
from .drawing import draw_audit as draw_audit
from .paying import plan_payments as plan_payments
from .paying import report_payments as report_payments
from .posting import post_to as post_to
from .providers.reconciling import reconcile_list as reconcile_list
from .settling import audit_files as audit_files
from .settling import settle_files as settle_files
from .statements import read_statements as read_statements
