from .options import PanelOptions as PanelOptions
from .options import TriageOptions as TriageOptions
from .votes import PanelResult as PanelResult
from .votes import TriageResult as TriageResult
from .votes import panel as panel
from .votes import triage as triage
