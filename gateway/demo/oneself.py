"""Whether a sentence tells a lasting fact about the user themselves: their name, where they live and work,
what they must not eat. By patterns: the demo understands nothing.
"""

import re

_SOMETIMES = r"(?:(?:also|now|still|currently|actually|really|very|highly|severely)\s+)*"
_ENGLISH = (
    r"my (?:(?:full|first|last)\s+)?(?:name|surname|nickname|job|profession|hometown|mother tongue"
    r"|native language|time ?zone|birthday)(?:\s+is|['’]s)\b"
    rf"|I(?:['’]m|\s+am|\s+was)\s+{_SOMETIMES}(?:allergic to|called|born (?:in|on)|from (?-i:[A-Z])|married"
    r"|vegetarian|vegan|diabetic|left-handed|colou?r-?blind|lactose intolerant|\d{1,3} years old"
    r"|(?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)?)$"
    r"|an? (?!(?:bit|little|lot|few)\b)(?:[\w-]+ ){0,3}(?:[\w-]+(?:er|or|ist|ian|ant|ent|ect|yst|man)|vegan"
    r"|diabetic|coeliac|celiac|nurse|chef|pilot|cook)\b)"
    rf"|I\s+{_SOMETIMES}(?:live (?:in|at|near|outside|on)|work (?:at|for|as|in)|come from|grew up in"
    r"|speak (?-i:[A-Z])|study (?:at|(?-i:[A-Z])))"
    r"|I\s+(?:do not|don['’]t|never|can(?:not|['’]t))\s+(?:eat|drink)\b"
    r"|I\s+have\s+(?:an?\s+(?:\w+\s+){0,2}allergy|diabetes|asthma"
    r"|(?:an?|one|two|three|four|\d)\s+(?:kids?|child|children|sons?|daughters?|brothers?|sisters?)\b)"
)
_CHINESE = (
    r"我(?:的(?:名字|姓名|[职職][业業]|工作|老家|家[乡鄉]|母[语語]|生日|血型)(?:叫|是)"
    r"|叫(?![了你您他她它不外车車])|姓"
    r"|是(?![想说說问問要来來去在为為因怕不第昨今刚剛被]|一[个個]人)[^，,。！!；;\s]{0,10}"
    r"(?:者|[员員]|[师師]|人|生|家|族|座|血|左撇子|[经經]理|爸爸?|[妈媽][妈媽]?)(?=$|[，,。！!；;])"
    r"|[对對][^，,。\s]{1,20}[过過]敏"
    r"|(?:[现現]在|目前|一直|家)*住(?:在|(?![了不过過得院])[\u3400-\u9fff])|家在"
    r"|(?:[现現]在|目前|一直)*在[^，,。\s]{1,20}(?:工作|上班|上[学學]|[读讀念][书書]|任[职職])(?=$|[，,。！!；;])"
    r"|[来來]自|出生[于於在]|生[于於]|今年[\d一二三四五六七八九十]{1,3}[岁歲]|吃[素斋齋]|[单單]身|已婚"
    r"|有[^，,。\s]{0,4}(?:孩子|[儿兒]子|女[儿兒]|哥哥|姐姐|弟弟|妹妹))"
)
_TOLD = re.compile(f"(?:{_ENGLISH}|{_CHINESE})", re.IGNORECASE)
_FOR_NOW = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|at the moment|right now|for now|until|this (?:morning|afternoon"
    r"|evening|week(?:end)?|month)|(?:last|next) (?:night|week(?:end)?|month))\b"
    r"|今[天晚早]|明[天晚早]|昨[天晚]|[这這上下](?:[周週]|[个個]?(?:星期|月)|[几幾]天|[会會]|次)|[暂暫][时時]|[刚剛][才刚剛]",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\s*(?:(?:hi|hello|hey|by the way|btw|well|oh|so|also|and|actually|for the record|just so you know"
    r"|你好|您好|大家好|嗨|[对對]了|[顺順](?:便|带|帶)[说說提]一?[下句]?|另外|其[实實])(?:\s+there)?(?:\s*[,，:：!！]\s*|\s+))+",
    re.IGNORECASE,
)


def without_opening(sentence: str) -> str:
    """A sentence without what it begins with and says nothing: "By the way, …"."""
    return _OPENING.sub("", sentence, count=1) if _OPENING.match(sentence) else sentence


def is_lasting_fact(sentence: str) -> bool:
    """Whether it begins with such a fact: "I am allergic to peanuts", 我住在上海. Not what holds for now."""
    return _TOLD.match(sentence) is not None and _FOR_NOW.search(sentence) is None
