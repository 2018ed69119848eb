"""Cross-validated comparison of algorithms on many datasets: define, plan, run, read results."""

from pairmend.study.definition import Study, load_study, paper_study, parse_study, shipped_study
from pairmend.study.estimators import tuned
from pairmend.study.execution import Outcome, Task
from pairmend.study.objects import CRITERIA, Criterion
from pairmend.study.plan import Plan, PlannedSet, plan_study
from pairmend.study.run import FailedTasksWarning, Step, StudyInUseError, check_study, run_study
from pairmend.study.sources import CatalogueSource, FileSource, FunctionSource
from pairmend.study.store import StudyRecord, read_study

__all__ = [
    "CRITERIA",
    "CatalogueSource",
    "Criterion",
    "FailedTasksWarning",
    "FileSource",
    "FunctionSource",
    "Outcome",
    "Plan",
    "PlannedSet",
    "Step",
    "Study",
    "StudyInUseError",
    "StudyRecord",
    "Task",
    "check_study",
    "load_study",
    "paper_study",
    "parse_study",
    "plan_study",
    "read_study",
    "run_study",
    "shipped_study",
    "tuned",
]
