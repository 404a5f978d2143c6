"""The public name of ``edgelaw.forecast``: from a design to learning curves and advice.

The module can be called like the function of its name: ``edgelaw.predict(X)`` is ``edgelaw.predict.predict(X)``.
"""

import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from edgelaw.forecast import Advice, Caution, Diagnostic, Forecast, Prediction, diagnose, predict

__all__ = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "diagnose", "predict"]


class CallableModule(ModuleType):
    """This module, as what it is to a type checker: called like its function, with its names as attributes."""

    __call__ = staticmethod(predict)
    if TYPE_CHECKING:
        Advice, Caution, Diagnostic, Forecast, Prediction = Advice, Caution, Diagnostic, Forecast, Prediction
        diagnose = staticmethod(diagnose)
        predict = staticmethod(predict)


__signature__ = inspect.signature(predict)
sys.modules[__name__].__class__ = CallableModule
