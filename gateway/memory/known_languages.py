"""The languages that the rules about memories know: English, and Chinese in both scripts. Pure.

The rules read negations, times and persons by their words. In another language they find none, and would take
a sentence for its opposite; a text in one is left to a person, or to the model.
"""

import re
import unicodedata

MAX_READ = 2000
"""Characters of a text that are looked at."""
MIN_WORDS = 4
"""Words in lower case that make a text without a small word of English one of another language."""
MIN_FOREIGN_SHARE = 0.2
"""The share of letters in other scripts from which on a text is in another language: fewer may be names."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Small words that are frequent. Those that English and another language write alike ("was", "in", "no") say
# nothing for either.
_ENGLISH = _words("""
    the and not my your his her our their you she they it's i'm don't doesn't didn't isn't can't won't
    it its are were been being be have does did doing with without from that this
    these those there then than what when where which who why how because if but about into should would
    could can cannot never always only also very more most some any every each other people user's users
""")
_ALIKE = _words("""
    a am an as at by do for he i in is me of to no on or so us was we will all any are had has
    if it its just like love may mine new not now off out over per please prefers likes
    use uses user want wants need needs works lives nothing thanks avoid stop keep
""")
_OTHERS = (
    _words("""
    ich du er sie wir ihr mich dich mir dir uns euch der das den dem des ein eine einen einem einer und
    oder aber nicht kein keine keinen keiner nie niemals ohne ist sind bin bist war waren habe hast
    haben hatte werde wird mit für von zu zum zur auf aus bei nach über mein meine meinen dein deine
    kann muss möchte mag gern immer auch wie wann warum wenn weil dass ik jij hij wij het een niet geen
    nooit zonder ben zijn mijn jouw met voor van naar maar ook altijd wat waarom omdat
    je tu il elle nous vous ils elles le la les un une des du et ou mais ne pas jamais aucun sans est
    suis sommes êtes sont ai as avons avez ont mon ma mes ton ta tes son ses notre nos votre vos avec
    pour dans sur chez que qui quoi quand où pourquoi parce toujours aussi très c'est j'ai n'ai j'aime
    n'aime
    yo él ella nosotros ellos el los las una unos pero nunca jamás sin es soy eres somos estoy está
    tengo tiene mi mis tu tus su sus con para por de del al en qué cómo cuándo porque siempre también
    muy eu ele ela nós eles os um uma mas não nem sem sou são tenho meu minha com em na nos quando
    sempre também io lui lei noi loro gli uno non mai senza sono sei siamo ho hai ha abbiamo mio mia
    miei per di che chi perché anche molto nu niciodată fără sunt este am și sau dar
    jag han hon vi och eller inte aldrig utan är har min mitt mina med för på att som jeg og ikke aldri
    uten uden er mit af til minä sinä hän me he ja tai mutta en ei emme eivät koskaan ilman olen on
    nie nigdy bez jestem jest mam mój moja się jako že není nikdy jsem mám můj já ty nem soha
    nélkül vagyok van én és vagy değil hiç ben sen ve bir için ile benim yok
    saya aku kamu dia kami tidak bukan jangan tanpa dan yang untuk dengan adalah tôi bạn không chưa
    chẳng và là của cho với hindi ako ikaw ang mga ng
""")
    - _ENGLISH
    - _ALIKE
)
"""Of German, Dutch, French, Spanish, Portuguese, Italian, Romanian, the Nordic languages, Polish, Czech,
Hungarian, Turkish, Indonesian, Vietnamese and Tagalog. Other scripts are told by their letters."""
_NO_PROSE = re.compile(r"`[^`]*`|\S*[/@\\_]\S*|\b\w+\.\w+\b|<[^>]*>")
"""Code, addresses, identifiers, tags."""
_LATIN_LETTER = r"A-Za-z\u00aa-\u024f\u1e00-\u1eff"
_LATIN = re.compile(rf"[{_LATIN_LETTER}]+(?:['’][{_LATIN_LETTER}]+)*")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_OTHER = re.compile(rf"[^\W\d_{_LATIN_LETTER}\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")


def is_known(text: str) -> bool:
    """Whether the rules know the language of `text`, or there is too little of it to say."""
    read = _NO_PROSE.sub(" ", unicodedata.normalize("NFKC", text[:MAX_READ]))
    written = [word.replace("’", "'") for word in _LATIN.findall(read)]
    words = [word.casefold() for word in written]
    han, others = len(_HAN.findall(read)), len(_OTHER.findall(read))
    if others > MIN_FOREIGN_SHARE * (sum(map(len, words)) + han + others):
        return False
    if han >= len(words):
        return True
    english = sum(word in _ENGLISH for word in words)
    # A capital within a sentence begins a name: São Paulo, La Paz.
    inside = [word for number, word in enumerate(words) if number == 0 or written[number][0].islower()]
    if sum(word in _OTHERS for word in inside) > english:
        return False
    if english or not _ALIKE.isdisjoint(words):
        return True
    small = {word for word in written if word[0].islower()}
    return len(small) < MIN_WORDS and all(map(str.isascii, small))
