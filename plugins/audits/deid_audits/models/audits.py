"""Audits of language models: what the entry points name.

Nothing heavy is imported before one runs.
"""

from __future__ import annotations

from pathlib import Path

from deid_assets.extending import ConfigError
from deid_assets.extending.audits import AuditResult, Material, Need, summary_of
from deid_assets.extending.corpora import is_tagger

VERSION = "0.5.0"
GENERATORS = ("gibbs", "mask_predict")
_SIZE = (
    "A model trained longer, or on fewer notes, remembers more: the result holds for this model"
    " alone."
)


class Membership:
    """Can it be told which notes the model was trained on?

    Args:
        attacks: Names, separated by commas; all when empty. A tagger has others than a language
            model.
        alpha: False positives that the threshold allows on the calibration notes.
        most: Samples of each set, drawn at random.
        limit: AUC that the upper end of every attack's interval must not exceed, of samples, notes
            and patients.
        low_limit: The same for the true positives at 1 % and 0.1 % false ones.
        shadows: Folder of shadow models, as ``deid privacy shadows`` makes it: one more attack, the
            likelihood ratio.
    """

    name = "membership"
    version = VERSION
    title = summary_of("deid_audits", "membership")
    needs = frozenset({Need.MODEL, Need.TRAINING, Need.HELD_OUT, Need.CALIBRATION})
    blind_spots: tuple[str, ...] = (
        (
            "It hardly reacts to replaced names: an AUC near 0.5 does not say that"
            " de-identification works."
        ),
        "Held-out notes of another time or clinic are told apart by their form, not by memory.",
        (
            "Attacks with more shadow models, or with gradients from the course of the training,"
            " may find more."
        ),
        _SIZE,
    )

    def __init__(
        self,
        *,
        attacks: str = "",
        alpha: float = 0.1,
        most: int = 1_000,
        limit: float = 0.6,
        low_limit: float = 0.1,
        shadows: str = "",
    ) -> None:
        if not 0 < alpha < 1 or most < 20 or not 0.5 <= limit <= 1 or not 0 < low_limit <= 1:
            raise ConfigError(
                "membership takes alpha in (0, 1), most of at least 20, a limit between 0.5 and 1"
                " and a low_limit above 0"
            )
        self.low_limit = low_limit
        self.attacks = tuple(part.strip() for part in attacks.split(",") if part.strip())
        self.alpha, self.most, self.limit = alpha, most, limit
        self.shadows = Path(shadows) if shadows else None

    def run(self, material: Material) -> AuditResult:
        """Return AUC and decisions of each attack, for samples, notes and patients."""
        if material.model is not None and is_tagger(material.model):
            from deid_audits.models.audit_taggers import run as run_on_tagger  # noqa: PLC0415

            return run_on_tagger(self, material)
        from deid_audits.models.audit_membership import run  # noqa: PLC0415 - loads PyTorch

        return run(self, material)

    def seconds(self, material: Material) -> float:
        """Return how long it takes, from one batch that the model reads."""
        from deid_audits.models.estimating import of_membership  # noqa: PLC0415 - loads PyTorch

        return of_membership(self, material)


class Extraction:
    """Do texts drawn from the model name patients together with what they have?

    Args:
        texts: How many are drawn.
        length: Tokens of each.
        conditions: File of conditions, one on each line; those of the planted corpus when empty.
        tagger: Program that finds concepts, in the place of a list: ``{"text": …}`` per line in, a
            JSON list per line out.
        steps: Of the generator ``gibbs``, half of them burn-in.
        sampling: How tokens are drawn: ``greedy``, ``full``, ``top_k:K`` or ``nucleus:P``.
        generator: Of masked models: ``gibbs``, or ``mask_predict``, which fills all gaps at once
            and the least sure again.
        rounds: Of ``mask_predict``.
    """

    name = "extraction"
    version = VERSION
    title = summary_of("deid_audits", "extraction")
    needs = frozenset({Need.MODEL, Need.GOLD})
    blind_spots: tuple[str, ...] = (
        "Conditions are found by a dictionary: other words for them are not.",
        "A name may come from what a base model had read before; compare with texts of the base.",
        "Paraphrased leaks and links of quasi-identifiers are not counted.",
        _SIZE,
    )

    def __init__(
        self,
        *,
        texts: int = 200,
        length: int = 40,
        conditions: str = "",
        tagger: str = "",
        steps: int = 200,
        sampling: str = "nucleus:0.95",
        generator: str = "gibbs",
        rounds: int = 10,
    ) -> None:
        if min(texts, 20 * rounds) < 20 or length < 4 or steps < 2 or generator not in GENERATORS:
            raise ConfigError(
                "extraction takes at least 20 texts, 4 tokens, 2 steps and 1 round, and a"
                f" generator of {', '.join(GENERATORS)}"
            )
        self.texts, self.length, self.steps, self.sampling = texts, length, steps, sampling
        self.rounds = rounds if generator == "mask_predict" else 0
        self.conditions = Path(conditions) if conditions else None
        self.tagger = Path(tagger) if tagger else None

    def run(self, material: Material) -> AuditResult:
        """Return rates of names and links, against wrong links and exchanged conditions, and the
        texts' quality.
        """
        from deid_audits.models.audit_extraction import run  # noqa: PLC0415 - loads PyTorch

        return run(self, material)

    def seconds(self, material: Material) -> float:
        """Return how long it takes, from one batch that the model reads."""
        from deid_audits.models.estimating import of_extraction  # noqa: PLC0415 - loads PyTorch

        return of_extraction(self, material)


class Canaries:
    """Does the model give back secrets that were planted in its notes?

    Args:
        candidates: Other secrets that each is ranked among.
        limit: Share of the others that planted secrets may beat more than unplanted ones do, and
            more than by chance, at most. Where unplanted ones beat more than that nothing is
            judged.
    """

    name = "canaries"
    version = "0.6.0"
    title = summary_of("deid_audits", "canaries")
    needs = frozenset({Need.MODEL, Need.TRAINING, Need.CANARIES})
    blind_spots: tuple[str, ...] = (
        (
            "Planted secrets stand for real ones of the same form only: a rare name in a rare"
            " context may fare worse."
        ),
        "Exposure cannot exceed the logarithm of the number of candidates.",
        _SIZE,
    )

    def __init__(self, *, candidates: int = 200, limit: float = 0.1) -> None:
        if candidates < 2 or not 0 <= limit < 1:
            raise ConfigError(
                "canaries takes at least 2 candidates and a limit of 0 or more, below 1"
            )
        self.candidates, self.limit = candidates, limit

    def run(self, material: Material) -> AuditResult:
        """Return ranks and exposure of planted and unplanted secrets, and how many a prompt draws
        out.
        """
        from deid_audits.models.audit_canaries import run  # noqa: PLC0415 - loads PyTorch

        return run(self, material)

    def seconds(self, material: Material) -> float:
        """Return how long it takes, from one batch that the model reads."""
        from deid_audits.models.estimating import of_canaries  # noqa: PLC0415 - loads PyTorch

        return of_canaries(self, material)


class SlotFill:
    """Does the model know whose name stands in a gap?

    Args:
        candidates: Other names that each is ranked among.
        most: Gaps, drawn at random.
        limit: Share of the others that the true name may beat, as the upper end of its interval.
    """

    name = "slot_fill"
    version = VERSION
    title = summary_of("deid_audits", "slot_fill")
    needs = frozenset({Need.MODEL, Need.GOLD})
    blind_spots: tuple[str, ...] = (
        "Candidates are names of the same notes: an attacker with fewer candidates finds more.",
        "Without a reference model a common name is taken for a remembered one.",
        "Gaps of dates, places and conditions are not asked.",
        _SIZE,
    )

    def __init__(self, *, candidates: int = 30, most: int = 300, limit: float = 0.6) -> None:
        if candidates < 2 or most < 20 or not 0.5 <= limit <= 1:
            raise ConfigError(
                "slot_fill takes at least 2 candidates, 20 gaps and a limit between 0.5 and 1"
            )
        self.candidates, self.most, self.limit = candidates, most, limit

    def run(self, material: Material) -> AuditResult:
        """Return where the true names rank, with what a reference finds likely taken off."""
        from deid_audits.models.audit_slots import run  # noqa: PLC0415 - loads PyTorch

        return run(self, material)
