"""Words that names, dates and addresses share with everything else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from deid_known_identity.tokens import fold

if TYPE_CHECKING:
    from nicknames import NickNamer

LANGUAGES = ("en", "es", "it", "fr", "de", "nl", "sv", "fi")

ORDINARY = frozenset(
    fold(word)
    for word in """
    an and as at be by do he in is it la le me my no of on or so to un us we al da de del den
    der des di die du een el en
    et il les los ma mais no per por que se si son su te ten ter til um und van von y zu zum
    art baker banks bay bell berg best bill bishop black bloom bond bush butler cash chase
    church clay cook cox cross day
    dean dick dolor drew ellis fall faith field fish flower ford forest foster fox frank french
    glass golden good grace
    grant gray green grey guy hand hard head heart hill holly hope house hunter jack jean joy
    june king knight lake lamb
    lane law little long love low lung mai march mark marsh martin mason may mercy miles mills
    moon moore morning mould
    neck noble nurse olive page palm park patience penny piper pitt pole pope power price prince
    pride rain reed rich
    ring rise rock rose ruby sage savage sharp short silver small smart snow spring stand star
    steel still stone strong
    stout summer sunny swan sweet temple walker wall ward waters weeks wells west white will
    winter wise wolf wood woods
    worth young
    alba alegre amable amor angel bravo bueno cabello cabeza calvo campo cano casa castillo
    consuelo corona cruz cuello
    delgado dolores esperanza feliz franco fuerte gallo gordo grande leon luna luz mano marina
    mayor mayo mercedes moreno
    nieves olmo paz pilar plaza prado puente reyes rico rio roca rojo rosa rubio salud sano
    sierra soledad sordo torre
    valle vega victoria
    alto basso bello bianca bianco bonito bruno buono colombo corti costa dolce esposito fede
    fontana forte franca
    galli gatti gentile grassi greco leone longo lupo mancini marino monte neri pace ricci rossi
    rosso russo sale salute
    serena sereno speranza testa valente vecchio vita vitale
    ami beau belle blanc blanche bon boucher bois bonnet boulanger brun champ chevalier claire
    clement colombe constant
    court denis fleur fort gros jolie jour juste lambert leblanc legrand lejeune long marchand
    maison marine martin mort
    noir olivier paul petit prosper rose roux sage saint simple vallet vincent
    adler alt bauer baum beck berger blum braun bruch busch drei engel ernst frei freund fuchs
    gross haas hahn hals hart
    hase herz hirsch hof huber jung kaiser kaufmann kind klein koch kopf krause kraus kurz lang
    lange licht linde
    mai mann marder meister messer moser muller neu nuss ost pfeiffer reich richter ritter roth
    sauer schaefer schmerz
    schneider schwarz sommer sonne stark stein stern stock stolz tag tal tod vogel voll wagner
    wald weber weiss winkler
    winter wolf wunder zahn
    bakker berg bos brink broek brouwer dam dekker dijk eik graaf groen groot haan heuvel jager
    jong klein kok koning
    kuiper leeuw meer mei molenaar mulder oud post prins ridder schipper slager smit vis visser
    vos vries wit zand
    ask berg blad blom bjork ek falk fors frisk glad gran gren holm hult lag lind lov lund maj
    modig nord rask rapp ros
    sand sjo skog sten stark stig storm strand strom tall vik
    aalto aho armas aro haapa halla harju helmi ilo into joki kallio kanto karhu kaski kivi
    koivu korpi koski kulta kuusi
    laakso lahti lampi lehti lumi maki meri metsa mies niemi onni orava paju pelto pohja puro
    rauha ranta saari salo sarka
    sisu suo susi suvi taimi tuisku tuuli uuno vaara valo vesa vilja virta voitto
    """.split()  # noqa: SIM905 - eight languages are read more easily as text
)
"""Words that are names too.

Without a capital, and at a sentence's start, they say nothing alone.
"""

FILLERS = frozenset(
    fold(word)
    for word in (
        "st nd rd th of the er e º ª o a de del di den van le dne ta ter den der im".split()  # noqa: SIM905
    )
)
"""Words between the parts of a date."""


@cache
def months() -> Mapping[str, int]:
    """Names of the months in all languages, folded, long and short.

    The tables of the Unicode consortium (CLDR).
    """
    from babel.dates import get_month_names  # noqa: PLC0415 - tables, loaded when first needed

    found: dict[str, int] = {}
    for lang in LANGUAGES:
        for width in ("wide", "abbreviated"):
            for context in ("format", "stand-alone"):
                for number, name in get_month_names(width, context=context, locale=lang).items():
                    found.setdefault(fold(name.rstrip(".")), number)
    return found


@cache
def nicknames(given: str) -> frozenset[str]:
    """Folded short forms of an English given name, and the names of which it is one."""
    namer = _namer()
    return frozenset(
        fold(name)
        for name in (*namer.nicknames_of(given), *namer.canonicals_of(given))
        if len(name) > 2
    )


@cache
def _namer() -> NickNamer:
    from nicknames import NickNamer  # noqa: PLC0415 - a table, loaded when first needed

    return NickNamer()
