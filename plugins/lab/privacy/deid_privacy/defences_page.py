"""The page of the defences: what each costs, and what each attack still finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deid_assets.extending.drawing import FILL, GRID, MUTED, Section, blank, png, study_html
from deid_audits.models.measures import AttackEstimate
from deid_privacy.defences import REPEATS, Arm, DefenceSettings
from deid_privacy.defences_tuning import Tried
from deid_training.guarantee import Guarantee

COLOURS = {"none": "#a3161d", "scrubbed": FILL, "dp": "#14683a"}
MARKERS = "sovD^P<X>*"


def defences_html(
    arms: Sequence[Arm],
    wanted: DefenceSettings,
    *,
    provenance: Mapping[str, str],
    tried: Sequence[Tried] = (),
) -> str:
    """Return the page."""
    bare = arms[0]
    return study_html(
        kind="Defences against memorisation",
        title="What protects the notes that a language model learns from",
        about=(
            f"{bare.notes:,} notes with planted names and secrets, each said"
            f" {', '.join(map(str, REPEATS))} times; {len(arms)} models of one shape,"
            f" {wanted.course.steps} steps each; the attacker holds the original notes"
        ),
        tiles=_tiles(arms),
        sections=[
            _picture(arms),
            _table(arms),
            _budgets(arms),
            *([make_tried_section(tried)] if tried else []),
            _limits(arms, wanted),
        ],
        provenance=provenance,
    )


def _tiles(arms: Sequence[Arm]) -> dict[str, tuple[str, str]]:
    bare = arms[0]
    strongest = max(bare.attacks, key=lambda one: one.value)
    found = {
        "Strongest attack, undefended": (
            f"{strongest.value:.3f}",
            f"{strongest.name}; chance {strongest.chance:g}",
        ),
        "Loss of the undefended model": (f"{bare.loss.value:.3f}", "per token of held-out notes"),
    }
    for arm in (one for one in arms if one.kind == "dp"):
        found[arm.name] = (
            f"{max(one.value for one in arm.attacks):.3f}",
            f"strongest attack; loss {arm.loss.value:.3f}",
        )
    return found


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]


def _interval(one: AttackEstimate) -> str:
    return f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]"


def _picture(arms: Sequence[Arm]) -> Section:
    pictures = {
        _capitalize(f"{arms[0].attacks[at].name}, with 95 % intervals; dotted: chance"): _plot(
            arms, at
        )
        for at in range(len(arms[0].attacks))
    }
    return Section(
        "Privacy against utility",
        "Each point is a model. To the left it is more useful (less loss on notes that it never"
        " read), further down it tells an attacker less.",
        pictures=pictures,
    )


def _plot(arms: Sequence[Arm], attack: int) -> bytes:
    figure, axes = blank(2.9, title=_capitalize(f"{arms[0].attacks[attack].name} against loss"))
    for number, arm in enumerate(arms):
        one = arm.attacks[attack]
        axes.errorbar(
            arm.loss.value,
            one.value,
            xerr=[[arm.loss.value - arm.loss.low], [arm.loss.high - arm.loss.value]],
            yerr=[[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]],
            color=COLOURS[arm.kind],
            marker=MARKERS[number % len(MARKERS)],
            linestyle="none",
            markersize=6,
            linewidth=1,
            label=arm.name,
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
    axes.axhline(arms[0].attacks[attack].chance, color=MUTED, linestyle=":", linewidth=1)
    axes.set_ylim(0.3, 1.05)
    axes.margins(x=0.18)
    axes.set_xlabel("Loss per token of held-out notes (less is better)", fontsize=8, color=MUTED)
    axes.set_ylabel(arms[0].attacks[attack].name, fontsize=8, color=MUTED)
    axes.grid(color=GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8, labelcolor=MUTED, color=GRID)
    axes.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return png(figure)


def _table(arms: Sequence[Arm]) -> Section:
    attacks = arms[0].attacks
    return Section(
        "The figures",
        "Value and 95 % interval. Names and secrets: share of others of the same form that the true"
        " one beats.",
        columns=(
            "Defence",
            "Notes read",
            "Withheld",
            "Loss",
            *[_capitalize(one.name) for one in attacks],
            "CPU s",
        ),
        rows=[
            (
                arm.name,
                f"{arm.notes:,}",
                f"{arm.withheld:,}",
                _interval(arm.loss),
                *map(_interval, arm.attacks),
                f"{arm.seconds:.0f}",
            )
            for arm in arms
        ],
        caption=(
            f"A model that knows nothing has a loss of {arms[0].loss.chance:.2f}; chance gives each"
            " attack 0.5."
        ),
    )


def _promise(arm: Arm, guarantee: Guarantee) -> tuple[str, ...]:
    course = ("", "")
    if arm.course:
        course = (f"{arm.course.learning_rate:g}", f"{arm.course.clip:g}")
    return (
        arm.name,
        f"{guarantee.noise:.3f}",
        f"{guarantee.rate:.4f}",
        f"{guarantee.steps:,}",
        f"{guarantee.delta:.1e}",
        f"{arm.epsilons['rdp']:.2f}",
        f"{arm.epsilons['prv']:.2f}",
        *course,
    )


def _budgets(arms: Sequence[Arm]) -> Section:
    rows = [_promise(arm, arm.guarantee) for arm in arms if arm.guarantee is not None]
    return Section(
        "What differential privacy promises",
        "For one note more or less. The noise is the least that keeps ε by Rényi accounting (RDP);"
        " the accountant of privacy losses (PRV) bounds the same run more tightly.",
        columns=(
            "Model",
            "Noise",
            "Share of notes a step",
            "Steps",
            "δ",
            "ε, RDP",
            "ε, PRV",
            "Learning rate",
            "Clip",
        ),
        rows=rows,
    )


def make_tried_section(tried: Sequence[Tried]) -> Section:
    """Return what was tried on the other corpus."""
    return Section(
        "Learning rate and clipping that were tried",
        "On a planted corpus of another seed; the least loss of each budget was taken.",
        columns=("ε", "Learning rate", "Clip", "Loss of held-out notes"),
        rows=[
            (f"{one.epsilon:g}", f"{one.learning_rate:g}", f"{one.clip:g}", f"{one.loss:.3f}")
            for one in tried
        ],
    )


def _limits(arms: Sequence[Arm], wanted: DefenceSettings) -> Section:
    reacted = max(one.low for one in arms[0].attacks) > 0.6
    control = (
        "Positive control held: an attack finds what the undefended model learnt."
        if reacted
        else (
            "VOID: no attack finds what the undefended model learnt, so that the others' figures"
            " prove nothing."
        )
    )
    return Section(
        "What this does not say",
        points=(
            control,
            (
                "A note is the unit: a secret that several notes say is protected several times"
                " less (ε grows with them)."
            ),
            (
                "Scrubbing removes what its categories name. The planted secrets are door codes,"
                " which no category names."
            ),
            "Membership hardly reacts to replaced names; ranks of names do.",
            (
                f"Tiny models, {wanted.notes} ordinary notes, one seed ({wanted.seed}): larger"
                " models remember more, and pay less for noise with more notes. "
                + (
                    "Learning rate and clipping of each budget were chosen on a corpus of another"
                    " seed."
                    if wanted.private
                    else "Learning rate and clipping are the same for all, and tuned for none."
                )
            ),
            (
                "The tokenizer is learnt from other notes. The time it takes, and which notes are"
                " withheld, are not private."
            ),
        ),
    )
