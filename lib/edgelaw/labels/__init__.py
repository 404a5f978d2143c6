"""Features and labels: the learning rate, order and epochs of a linear probe, and the losses to expect of it."""

from edgelaw.labels.closed_form import ClosedForm
from edgelaw.labels.forecasting import forecast
from edgelaw.labels.results import Accuracy, Caution, Costs, OrderForecast, ProbeForecast

__all__ = ["Accuracy", "Caution", "ClosedForm", "Costs", "OrderForecast", "ProbeForecast", "forecast"]
