"""The days of the month in words, as they stand before or after a month's name: "third of May", "tres de mayo"."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.policies.drawing import listed


def _german(ending: str) -> tuple[str, ...]:
    return tuple(stem + ending for stem in _GERMAN)


_GERMAN = listed(
    "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft dreizehnt vierzehnt fünfzehnt "
    "sechzehnt siebzehnt achtzehnt neunzehnt zwanzigst einundzwanzigst zweiundzwanzigst dreiundzwanzigst "
    "vierundzwanzigst fünfundzwanzigst sechsundzwanzigst siebenundzwanzigst achtundzwanzigst "
    "neunundzwanzigst dreißigst einunddreißigst"
)
DAY_WORDS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "en": (
        listed(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
            "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh twenty-eighth "
            "twenty-ninth thirtieth thirty-first"
        ),
    ),
    "es": (
        listed(
            "uno,dos,tres,cuatro,cinco,seis,siete,ocho,nueve,diez,once,doce,trece,catorce,quince,dieciséis,"
            "diecisiete,dieciocho,diecinueve,veinte,veintiuno,veintidós,veintitrés,veinticuatro,veinticinco,"
            "veintiséis,veintisiete,veintiocho,veintinueve,treinta,treinta y uno",
            ",",
        ),
    ),
    "it": (
        listed(
            "primo due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
            "sedici diciassette diciotto diciannove venti ventuno ventidue ventitré ventiquattro venticinque "
            "ventisei ventisette ventotto ventinove trenta trentuno"
        ),
    ),
    "fr": (
        listed(
            "premier deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
            "dix-sept dix-huit dix-neuf vingt vingt-et-un vingt-deux vingt-trois vingt-quatre vingt-cinq "
            "vingt-six vingt-sept vingt-huit vingt-neuf trente trente-et-un"
        ),
    ),
    "de": (_german("en"), _german("e"), _german("er")),
    "nl": (
        listed(
            "eerste tweede derde vierde vijfde zesde zevende achtste negende tiende elfde twaalfde dertiende "
            "veertiende vijftiende zestiende zeventiende achttiende negentiende twintigste eenentwintigste "
            "tweeëntwintigste drieëntwintigste vierentwintigste vijfentwintigste zesentwintigste "
            "zevenentwintigste achtentwintigste negenentwintigste dertigste eenendertigste"
        ),
    ),
    "sv": (
        listed(
            "första andra tredje fjärde femte sjätte sjunde åttonde nionde tionde elfte tolfte trettonde "
            "fjortonde femtonde sextonde sjuttonde artonde nittonde tjugonde tjugoförsta tjugoandra tjugotredje "
            "tjugofjärde tjugofemte tjugosjätte tjugosjunde tjugoåttonde tjugonionde trettionde trettioförsta"
        ),
    ),
    "fi": (
        listed(
            "ensimmäisenä toisena kolmantena neljäntenä viidentenä kuudentena seitsemäntenä kahdeksantena "
            "yhdeksäntenä kymmenentenä yhdentenätoista kahdentenatoista kolmantenatoista neljäntenätoista "
            "viidentenätoista kuudentenatoista seitsemäntenätoista kahdeksantenatoista yhdeksäntenätoista "
            "kahdentenakymmenentenä kahdentenakymmenentenäensimmäisenä kahdentenakymmenentenätoisena "
            "kahdentenakymmenentenäkolmantena kahdentenakymmenentenäneljäntenä kahdentenakymmenentenäviidentenä "
            "kahdentenakymmenentenäkuudentena kahdentenakymmenentenäseitsemäntenä "
            "kahdentenakymmenentenäkahdeksantena kahdentenakymmenentenäyhdeksäntenä kolmantenakymmenentenä "
            "kolmantenakymmenentenäensimmäisenä"
        ),
    ),
}
"""Rows of 31 words, each row in one form."""
