"""Cross-validated comparison of algorithms on many datasets: define, plan, run, read results."""

from pairmend.study.criteria import CRITERIA, Criterion
from pairmend.study.definition import Study
from pairmend.study.execution import Outcome
from pairmend.study.lock import StudyInUseError
from pairmend.study.plan import Plan, PlannedSet, plan_study
from pairmend.study.run import FailedTasksWarning, Step, run_study
from pairmend.study.sources import CatalogueSource, FileSource, FunctionSource
from pairmend.study.store import StudyRecord, read_study
from pairmend.study.studyfile import load_study, paper_study, parse_study, shipped_study
from pairmend.study.tasks import Task
from pairmend.study.tuning import tuned

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
    "load_study",
    "paper_study",
    "parse_study",
    "plan_study",
    "read_study",
    "run_study",
    "shipped_study",
    "tuned",
]
