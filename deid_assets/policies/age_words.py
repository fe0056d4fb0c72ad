"""The words that ages are written with, folded: small letters, no accents, blanks for hyphens."""

from __future__ import annotations

from collections.abc import Mapping

from deid_assets.policies.drawing import listed

NUMBERS: Mapping[str, tuple[str, ...]] = {
    "en": listed(
        "zero,one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,sixteen,"
        "seventeen,eighteen,nineteen,twenty,twenty one,twenty two,twenty three,twenty four,twenty five,twenty six,"
        "twenty seven,twenty eight,twenty nine,thirty,thirty one,thirty two,thirty three,thirty four,thirty five,"
        "thirty six,thirty seven,thirty eight,thirty nine,forty,forty one,forty two,forty three,forty four,"
        "forty five,forty six,forty seven,forty eight,forty nine,fifty,fifty one,fifty two,fifty three,fifty four,"
        "fifty five,fifty six,fifty seven,fifty eight,fifty nine,sixty,sixty one,sixty two,sixty three,sixty four,"
        "sixty five,sixty six,sixty seven,sixty eight,sixty nine,seventy,seventy one,seventy two,seventy three,"
        "seventy four,seventy five,seventy six,seventy seven,seventy eight,seventy nine,eighty,eighty one,"
        "eighty two,eighty three,eighty four,eighty five,eighty six,eighty seven,eighty eight,eighty nine,ninety,"
        "ninety one,ninety two,ninety three,ninety four,ninety five,ninety six,ninety seven,ninety eight,"
        "ninety nine",
        ",",
    ),
    "es": listed(
        "cero,uno,dos,tres,cuatro,cinco,seis,siete,ocho,nueve,diez,once,doce,trece,catorce,quince,dieciseis,"
        "diecisiete,dieciocho,diecinueve,veinte,veintiuno,veintidos,veintitres,veinticuatro,veinticinco,"
        "veintiseis,veintisiete,veintiocho,veintinueve,treinta,treinta y un,treinta y dos,treinta y tres,"
        "treinta y cuatro,treinta y cinco,treinta y seis,treinta y siete,treinta y ocho,treinta y nueve,cuarenta,"
        "cuarenta y un,cuarenta y dos,cuarenta y tres,cuarenta y cuatro,cuarenta y cinco,cuarenta y seis,"
        "cuarenta y siete,cuarenta y ocho,cuarenta y nueve,cincuenta,cincuenta y un,cincuenta y dos,"
        "cincuenta y tres,cincuenta y cuatro,cincuenta y cinco,cincuenta y seis,cincuenta y siete,"
        "cincuenta y ocho,cincuenta y nueve,sesenta,sesenta y un,sesenta y dos,sesenta y tres,sesenta y cuatro,"
        "sesenta y cinco,sesenta y seis,sesenta y siete,sesenta y ocho,sesenta y nueve,setenta,setenta y un,"
        "setenta y dos,setenta y tres,setenta y cuatro,setenta y cinco,setenta y seis,setenta y siete,"
        "setenta y ocho,setenta y nueve,ochenta,ochenta y un,ochenta y dos,ochenta y tres,ochenta y cuatro,"
        "ochenta y cinco,ochenta y seis,ochenta y siete,ochenta y ocho,ochenta y nueve,noventa,noventa y un,"
        "noventa y dos,noventa y tres,noventa y cuatro,noventa y cinco,noventa y seis,noventa y siete,"
        "noventa y ocho,noventa y nueve",
        ",",
    ),
    "it": listed(
        "zero,uno,due,tre,quattro,cinque,sei,sette,otto,nove,dieci,undici,dodici,tredici,quattordici,quindici,"
        "sedici,diciassette,diciotto,diciannove,venti,ventuno,ventidue,ventitre,ventiquattro,venticinque,ventisei,"
        "ventisette,ventotto,ventinove,trenta,trentuno,trentadue,trentatre,trentaquattro,trentacinque,trentasei,"
        "trentasette,trentotto,trentanove,quaranta,quarantuno,quarantadue,quarantatre,quarantaquattro,"
        "quarantacinque,quarantasei,quarantasette,quarantotto,quarantanove,cinquanta,cinquantuno,cinquantadue,"
        "cinquantatre,cinquantaquattro,cinquantacinque,cinquantasei,cinquantasette,cinquantotto,cinquantanove,"
        "sessanta,sessantuno,sessantadue,sessantatre,sessantaquattro,sessantacinque,sessantasei,sessantasette,"
        "sessantotto,sessantanove,settanta,settantuno,settantadue,settantatre,settantaquattro,settantacinque,"
        "settantasei,settantasette,settantotto,settantanove,ottanta,ottantuno,ottantadue,ottantatre,"
        "ottantaquattro,ottantacinque,ottantasei,ottantasette,ottantotto,ottantanove,novanta,novantuno,novantadue,"
        "novantatre,novantaquattro,novantacinque,novantasei,novantasette,novantotto,novantanove",
        ",",
    ),
    "fr": listed(
        "zero,un,deux,trois,quatre,cinq,six,sept,huit,neuf,dix,onze,douze,treize,quatorze,quinze,seize,dix sept,"
        "dix huit,dix neuf,vingt,vingt et un,vingt deux,vingt trois,vingt quatre,vingt cinq,vingt six,vingt sept,"
        "vingt huit,vingt neuf,trente,trente et un,trente deux,trente trois,trente quatre,trente cinq,trente six,"
        "trente sept,trente huit,trente neuf,quarante,quarante et un,quarante deux,quarante trois,quarante quatre,"
        "quarante cinq,quarante six,quarante sept,quarante huit,quarante neuf,cinquante,cinquante et un,"
        "cinquante deux,cinquante trois,cinquante quatre,cinquante cinq,cinquante six,cinquante sept,"
        "cinquante huit,cinquante neuf,soixante,soixante et un,soixante deux,soixante trois,soixante quatre,"
        "soixante cinq,soixante six,soixante sept,soixante huit,soixante neuf,soixante dix,soixante et onze,"
        "soixante douze,soixante treize,soixante quatorze,soixante quinze,soixante seize,soixante dix sept,"
        "soixante dix huit,soixante dix neuf,quatre vingts,quatre vingt un,quatre vingt deux,quatre vingt trois,"
        "quatre vingt quatre,quatre vingt cinq,quatre vingt six,quatre vingt sept,quatre vingt huit,"
        "quatre vingt neuf,quatre vingt dix,quatre vingt onze,quatre vingt douze,quatre vingt treize,"
        "quatre vingt quatorze,quatre vingt quinze,quatre vingt seize,quatre vingt dix sept,quatre vingt dix huit,"
        "quatre vingt dix neuf",
        ",",
    ),
    "de": listed(
        "null,eins,zwei,drei,vier,funf,sechs,sieben,acht,neun,zehn,elf,zwolf,dreizehn,vierzehn,funfzehn,sechzehn,"
        "siebzehn,achtzehn,neunzehn,zwanzig,einundzwanzig,zweiundzwanzig,dreiundzwanzig,vierundzwanzig,"
        "funfundzwanzig,sechsundzwanzig,siebenundzwanzig,achtundzwanzig,neunundzwanzig,dreissig,einunddreissig,"
        "zweiunddreissig,dreiunddreissig,vierunddreissig,funfunddreissig,sechsunddreissig,siebenunddreissig,"
        "achtunddreissig,neununddreissig,vierzig,einundvierzig,zweiundvierzig,dreiundvierzig,vierundvierzig,"
        "funfundvierzig,sechsundvierzig,siebenundvierzig,achtundvierzig,neunundvierzig,funfzig,einundfunfzig,"
        "zweiundfunfzig,dreiundfunfzig,vierundfunfzig,funfundfunfzig,sechsundfunfzig,siebenundfunfzig,"
        "achtundfunfzig,neunundfunfzig,sechzig,einundsechzig,zweiundsechzig,dreiundsechzig,vierundsechzig,"
        "funfundsechzig,sechsundsechzig,siebenundsechzig,achtundsechzig,neunundsechzig,siebzig,einundsiebzig,"
        "zweiundsiebzig,dreiundsiebzig,vierundsiebzig,funfundsiebzig,sechsundsiebzig,siebenundsiebzig,"
        "achtundsiebzig,neunundsiebzig,achtzig,einundachtzig,zweiundachtzig,dreiundachtzig,vierundachtzig,"
        "funfundachtzig,sechsundachtzig,siebenundachtzig,achtundachtzig,neunundachtzig,neunzig,einundneunzig,"
        "zweiundneunzig,dreiundneunzig,vierundneunzig,funfundneunzig,sechsundneunzig,siebenundneunzig,"
        "achtundneunzig,neunundneunzig",
        ",",
    ),
    "nl": listed(
        "nul,een,twee,drie,vier,vijf,zes,zeven,acht,negen,tien,elf,twaalf,dertien,veertien,vijftien,zestien,"
        "zeventien,achttien,negentien,twintig,eenentwintig,tweeentwintig,drieentwintig,vierentwintig,"
        "vijfentwintig,zesentwintig,zevenentwintig,achtentwintig,negenentwintig,dertig,eenendertig,tweeendertig,"
        "drieendertig,vierendertig,vijfendertig,zesendertig,zevenendertig,achtendertig,negenendertig,veertig,"
        "eenenveertig,tweeenveertig,drieenveertig,vierenveertig,vijfenveertig,zesenveertig,zevenenveertig,"
        "achtenveertig,negenenveertig,vijftig,eenenvijftig,tweeenvijftig,drieenvijftig,vierenvijftig,"
        "vijfenvijftig,zesenvijftig,zevenenvijftig,achtenvijftig,negenenvijftig,zestig,eenenzestig,tweeenzestig,"
        "drieenzestig,vierenzestig,vijfenzestig,zesenzestig,zevenenzestig,achtenzestig,negenenzestig,zeventig,"
        "eenenzeventig,tweeenzeventig,drieenzeventig,vierenzeventig,vijfenzeventig,zesenzeventig,zevenenzeventig,"
        "achtenzeventig,negenenzeventig,tachtig,eenentachtig,tweeentachtig,drieentachtig,vierentachtig,"
        "vijfentachtig,zesentachtig,zevenentachtig,achtentachtig,negenentachtig,negentig,eenennegentig,"
        "tweeennegentig,drieennegentig,vierennegentig,vijfennegentig,zesennegentig,zevenennegentig,achtennegentig,"
        "negenennegentig",
        ",",
    ),
    "sv": listed(
        "noll,ett,tva,tre,fyra,fem,sex,sju,atta,nio,tio,elva,tolv,tretton,fjorton,femton,sexton,sjutton,arton,"
        "nitton,tjugo,tjugoett,tjugotva,tjugotre,tjugofyra,tjugofem,tjugosex,tjugosju,tjugoatta,tjugonio,trettio,"
        "trettioett,trettiotva,trettiotre,trettiofyra,trettiofem,trettiosex,trettiosju,trettioatta,trettionio,"
        "fyrtio,fyrtioett,fyrtiotva,fyrtiotre,fyrtiofyra,fyrtiofem,fyrtiosex,fyrtiosju,fyrtioatta,fyrtionio,"
        "femtio,femtioett,femtiotva,femtiotre,femtiofyra,femtiofem,femtiosex,femtiosju,femtioatta,femtionio,"
        "sextio,sextioett,sextiotva,sextiotre,sextiofyra,sextiofem,sextiosex,sextiosju,sextioatta,sextionio,"
        "sjuttio,sjuttioett,sjuttiotva,sjuttiotre,sjuttiofyra,sjuttiofem,sjuttiosex,sjuttiosju,sjuttioatta,"
        "sjuttionio,attio,attioett,attiotva,attiotre,attiofyra,attiofem,attiosex,attiosju,attioatta,attionio,"
        "nittio,nittioett,nittiotva,nittiotre,nittiofyra,nittiofem,nittiosex,nittiosju,nittioatta,nittionio",
        ",",
    ),
    "fi": listed(
        "nolla,yksi,kaksi,kolme,nelja,viisi,kuusi,seitseman,kahdeksan,yhdeksan,kymmenen,yksitoista,kaksitoista,"
        "kolmetoista,neljatoista,viisitoista,kuusitoista,seitsemantoista,kahdeksantoista,yhdeksantoista,"
        "kaksikymmenta,kaksikymmentayksi,kaksikymmentakaksi,kaksikymmentakolme,kaksikymmentanelja,"
        "kaksikymmentaviisi,kaksikymmentakuusi,kaksikymmentaseitseman,kaksikymmentakahdeksan,"
        "kaksikymmentayhdeksan,kolmekymmenta,kolmekymmentayksi,kolmekymmentakaksi,kolmekymmentakolme,"
        "kolmekymmentanelja,kolmekymmentaviisi,kolmekymmentakuusi,kolmekymmentaseitseman,kolmekymmentakahdeksan,"
        "kolmekymmentayhdeksan,neljakymmenta,neljakymmentayksi,neljakymmentakaksi,neljakymmentakolme,"
        "neljakymmentanelja,neljakymmentaviisi,neljakymmentakuusi,neljakymmentaseitseman,neljakymmentakahdeksan,"
        "neljakymmentayhdeksan,viisikymmenta,viisikymmentayksi,viisikymmentakaksi,viisikymmentakolme,"
        "viisikymmentanelja,viisikymmentaviisi,viisikymmentakuusi,viisikymmentaseitseman,viisikymmentakahdeksan,"
        "viisikymmentayhdeksan,kuusikymmenta,kuusikymmentayksi,kuusikymmentakaksi,kuusikymmentakolme,"
        "kuusikymmentanelja,kuusikymmentaviisi,kuusikymmentakuusi,kuusikymmentaseitseman,kuusikymmentakahdeksan,"
        "kuusikymmentayhdeksan,seitsemankymmenta,seitsemankymmentayksi,seitsemankymmentakaksi,"
        "seitsemankymmentakolme,seitsemankymmentanelja,seitsemankymmentaviisi,seitsemankymmentakuusi,"
        "seitsemankymmentaseitseman,seitsemankymmentakahdeksan,seitsemankymmentayhdeksan,kahdeksankymmenta,"
        "kahdeksankymmentayksi,kahdeksankymmentakaksi,kahdeksankymmentakolme,kahdeksankymmentanelja,"
        "kahdeksankymmentaviisi,kahdeksankymmentakuusi,kahdeksankymmentaseitseman,kahdeksankymmentakahdeksan,"
        "kahdeksankymmentayhdeksan,yhdeksankymmenta,yhdeksankymmentayksi,yhdeksankymmentakaksi,"
        "yhdeksankymmentakolme,yhdeksankymmentanelja,yhdeksankymmentaviisi,yhdeksankymmentakuusi,"
        "yhdeksankymmentaseitseman,yhdeksankymmentakahdeksan,yhdeksankymmentayhdeksan",
        ",",
    ),
}
"""0 to 99 in words."""

OTHER_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "en": {},
    "es": {"un": 1, "una": 1, "veintiun": 21, "treinta y un": 31, "cuarenta y un": 41, "cincuenta y un": 51},
    "it": {"un": 1, "una": 1},
    "fr": {"une": 1, "vingt et un": 21, "septante": 70, "octante": 80, "huitante": 80, "nonante": 90},
    "de": {"ein": 1, "eins": 1, "einem": 1, "einen": 1},
    "nl": {"een": 1},
    "sv": {"ett": 1, "en": 1},
    "fi": {"yhden": 1},
}
"""Other spellings."""

ENDINGS: Mapping[str, tuple[str, ...]] = {
    "it": listed("enne enni"),
    "de": listed("jahrig jahrige jahriger jahriges jahrigen jahrigem"),
    "nl": listed("jarig jarige jarigen"),
    "sv": listed("arig arige ariga aring aringen aringar"),
    "fi": listed("vuotias vuotiaan vuotiaana vuotiaalla vuotiaalle vuotiaat vuotiasta vuotiaiden"),
}
"""Suffixes that may follow a number without a blank: "45-vuotias", "einundzwanzigjährig"."""

YEARS: Mapping[str, tuple[str, ...]] = {
    "it": listed("anno anni aa a di eta circa inizio meta fine neonato neonata all alla"),
    "fr": listed("annee annees age debut fin moitie agee ans an la de environ et demi demie plus nouveau ne nee"),
    "de": listed(
        "jahr jahre jahren anfang mitte ende j alt alte alter altes im alters von ca und halb neugeboren neugeborenes lj"
    ),
    "nl": listed(
        "jaar jr begin midden eind jarige oud oude van de leeftijd op ca en half bijna pasgeboren pasgeborene"
    ),
    "sv": listed("ar ars aldern gammal gammalt vid alder av ca och halvt nyfodd cirka snart"),
    "fi": listed("v vuotta vuoden vuosi ian ikainen ika noin ja puoli puolen vastasyntynyt iassa vuotiaana"),
}
"""Words beside an age that say no other unit."""

_SMALL: Mapping[str, Mapping[int, str]] = {
    "it": {365: "giorno giorni gg", 52: "settimana settimane sett", 12: "mese mesi", 8760: "ora ore"},
    "fr": {365: "jour jours j", 52: "semaine semaines sem", 12: "mois", 8760: "heure heures"},
    "de": {365: "tag tage tagen", 52: "woche wochen wo", 12: "monat monate monaten mon", 8760: "stunde stunden"},
    "nl": {365: "dag dagen dgn", 52: "week weken wk wkn", 12: "maand maanden mnd", 8760: "uur"},
    "sv": {365: "dag dagar dygn", 52: "vecka veckor veckors v", 12: "manad manader manaders man", 8760: "timmar"},
    "fi": {365: "paiva paivaa paivan pv", 52: "viikko viikkoa viikon vk", 12: "kuukausi kuukautta kuukauden kk",
           8760: "tunti tuntia"},
}  # fmt: skip
SMALL_UNITS: Mapping[str, Mapping[str, int]] = {
    lang: {unit: count for count, row in units.items() for unit in listed(row)} for lang, units in _SMALL.items()
}
"""Units shorter than a year with how many make one; "v" is a year in Finnish and a week in Swedish."""

DECADES: Mapping[str, tuple[str, ...]] = {
    "en": listed("twenties thirties forties fifties sixties seventies eighties nineties"),
    "es": listed("veinteanero treintanero cuarenton cincuenton sesenton setenton ochenton noventon"),
    "it": listed("ventina trentina quarantina cinquantina sessantina settantina ottantina novantina"),
    "fr": listed(
        "vingtenaire trentenaire quadragenaire quinquagenaire sexagenaire septuagenaire octogenaire nonagenaire"
    ),
    "de": listed("zwanzigern dreissigern vierzigern funfzigern sechzigern siebzigern achtzigern neunzigern"),
    "nl": listed("twintiger dertiger veertiger vijftiger zestiger zeventiger tachtiger negentiger"),
    "sv": listed(
        "tjugoarsaldern trettioarsaldern fyrtioarsaldern femtioarsaldern sextioarsaldern sjuttioarsaldern "
        "attioarsaldern nittioarsaldern"
    ),
    "fi": listed(
        "kaksikymppinen kolmikymppinen nelikymppinen viisikymppinen kuusikymppinen seitsenkymppinen "
        "kahdeksankymppinen yhdeksankymppinen"
    ),
}
"""Words for an age in a decade, from the twenties on."""
