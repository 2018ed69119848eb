"""Cross-validated comparison of algorithms on many datasets: define, plan, run, read results."""

from pairmend.study.criteria import CRITERIA, Criterion
from pairmend.study.definition import Study, load_study
from pairmend.study.estimators import tuned
from pairmend.study.run import FailedTasksWarning, Plan, check_study, plan_study, run_study
from pairmend.study.store import StudyRecord, read_study

__all__ = [
    "CRITERIA",
    "Criterion",
    "FailedTasksWarning",
    "Plan",
    "Study",
    "StudyRecord",
    "check_study",
    "load_study",
    "plan_study",
    "read_study",
    "run_study",
    "tuned",
]
