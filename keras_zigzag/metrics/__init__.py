"""How good are the uncertainties? Pure functions on arrays.

What happened comes first, then the score: `aulc(correct, uncertainty)`,
`aurc(loss, uncertainty)`, `roc_auc(id_uncertainty, ood_uncertainty)`. Higher
uncertainty means less trust, OOD is the positive class. Samples that tie
count with their expected value over all orders, so that no result depends on
the order of the samples.

The `Streaming…` classes do the same for data that do not fit into memory.
"""

from keras_zigzag.metrics.calibration import (
    ReliabilityCurve as ReliabilityCurve,
)
from keras_zigzag.metrics.calibration import (
    classwise_calibration_error as classwise_calibration_error,
)
from keras_zigzag.metrics.calibration import (
    expected_calibration_error as expected_calibration_error,
)
from keras_zigzag.metrics.calibration import (
    reliability_curve as reliability_curve,
)
from keras_zigzag.metrics.error_agreement import (
    CumulativeCalibrationCurve as CumulativeCalibrationCurve,
)
from keras_zigzag.metrics.error_agreement import (
    cumulative_calibration_curve as cumulative_calibration_curve,
)
from keras_zigzag.metrics.error_agreement import (
    cumulative_calibration_error as cumulative_calibration_error,
)
from keras_zigzag.metrics.error_agreement import pearson as pearson
from keras_zigzag.metrics.error_agreement import spearman as spearman
from keras_zigzag.metrics.gaussian import Interval as Interval
from keras_zigzag.metrics.gaussian import gaussian_crps as gaussian_crps
from keras_zigzag.metrics.gaussian import gaussian_interval as gaussian_interval
from keras_zigzag.metrics.gaussian import gaussian_nll as gaussian_nll
from keras_zigzag.metrics.gaussian import interval_coverage as interval_coverage
from keras_zigzag.metrics.gaussian import interval_width as interval_width
from keras_zigzag.metrics.lift import LiftCurve as LiftCurve
from keras_zigzag.metrics.lift import aulc as aulc
from keras_zigzag.metrics.lift import lift_curve as lift_curve
from keras_zigzag.metrics.lift import raulc as raulc
from keras_zigzag.metrics.lift_regression import (
    aulc_regression as aulc_regression,
)
from keras_zigzag.metrics.lift_regression import (
    lift_curve_regression as lift_curve_regression,
)
from keras_zigzag.metrics.lift_regression import (
    raulc_regression as raulc_regression,
)
from keras_zigzag.metrics.ood import average_precision as average_precision
from keras_zigzag.metrics.ood import pr_auc as pr_auc
from keras_zigzag.metrics.ood import prevalence as prevalence
from keras_zigzag.metrics.ood import roc_auc as roc_auc
from keras_zigzag.metrics.ood_points import DetectionCurves as DetectionCurves
from keras_zigzag.metrics.ood_points import detection_curves as detection_curves
from keras_zigzag.metrics.ood_points import fpr_at_tpr as fpr_at_tpr
from keras_zigzag.metrics.operating_points import (
    coverage_at_risk as coverage_at_risk,
)
from keras_zigzag.metrics.operating_points import (
    risk_at_coverage as risk_at_coverage,
)
from keras_zigzag.metrics.probabilities import brier_score as brier_score
from keras_zigzag.metrics.probabilities import (
    negative_log_likelihood as negative_log_likelihood,
)
from keras_zigzag.metrics.rejection import augrc as augrc
from keras_zigzag.metrics.rejection import (
    prediction_rejection_ratio as prediction_rejection_ratio,
)
from keras_zigzag.metrics.risk_coverage import (
    RiskCoverageCurve as RiskCoverageCurve,
)
from keras_zigzag.metrics.risk_coverage import aurc as aurc
from keras_zigzag.metrics.risk_coverage import ause as ause
from keras_zigzag.metrics.risk_coverage import excess_aurc as excess_aurc
from keras_zigzag.metrics.risk_coverage import (
    risk_coverage_curve as risk_coverage_curve,
)
from keras_zigzag.metrics.streaming.streaming_detection import (
    StreamingDetection as StreamingDetection,
)
from keras_zigzag.metrics.streaming.streaming_lift import (
    StreamingLift as StreamingLift,
)
from keras_zigzag.metrics.streaming.streaming_risk_coverage import (
    StreamingRiskCoverage as StreamingRiskCoverage,
)
