"""Memories of one person in three scripts, and what is asked about them: recall is measured with this set.

The memories were used last at different times and weigh differently, so that finding one is not a matter of
words alone. A question's `expected` are the names of the memories that answer it; those of `no-answer` have
none, and those of `semantic` share no word with their answers, so that only vectors can find them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateway.storage.memories import MemoryType

NOT_BY_WORDS = "semantic"
NO_ANSWER = "no-answer"


class InContext(NamedTuple):
    """`days` since it was last used."""

    name: str
    type: MemoryType
    content: str
    importance: int = 3
    days: int = 0
    tags: Sequence[str] = ()


class Asked(NamedTuple):
    category: str
    text: str
    expected: tuple[str, ...]


KNOWN = (
    # simplified Chinese
    InContext("coffee", "preference", "早上只喝美式咖啡，不加糖也不加奶。", 3, 40),
    InContext("peanut", "constraint", "对花生和腰果严重过敏，外出吃饭必须提醒。", 5, 200),
    InContext("cat", "fact", "家里养了一只橘猫，名字叫芝麻，今年四岁。", 2, 90),
    InContext("daughter", "fact", "女儿朵朵在实验小学读三年级，每周三下午有钢琴课。", 4, 15),
    InContext("anniversary", "event", "结婚纪念日是十月十八日，去年忘了订餐厅。", 4, 300),
    InContext("layout", "preference", "做幻灯片时喜欢留白多、字号大、只用两种颜色的版式。", 3, 12),
    InContext("postgres", "project_decision", "订单服务的数据库定为 PostgreSQL，不再考虑 MongoDB。", 4, 60),
    InContext("deploy", "constraint", "周五下午四点以后禁止上线，除非是安全补丁。", 5, 30),
    InContext(
        "cache", "discussion_conclusion", "讨论后认为热点商品的缓存过期时间取三十秒，并加随机抖动。", 3, 75
    ),
    InContext("canary", "project_decision", "新版网关先灰度百分之五的流量，观察一天再全量。", 3, 20),
    InContext("weekly", "action_item", "每周一上午十点前要把周报发给王敏。", 3, 6),
    InContext("budget", "fact", "今年市场部的差旅预算只剩两万八千元。", 3, 45),
    InContext("vendor", "risk", "物流供应商顺达的合同年底到期，续约价格可能上涨。", 4, 33),
    InContext("shoes", "fact", "跑步鞋穿四十二码半，脚背偏高。", 2, 150),
    InContext("marathon", "event", "报名了明年三月的厦门马拉松，目标四小时以内。", 3, 25),
    InContext("spicy", "preference", "能吃辣，但肠胃不好，晚饭要清淡。", 3, 10),
    InContext("reading", "preference", "睡前读科幻小说，最喜欢的作者是刘慈欣。", 2, 120),
    InContext("tea", "fact", "老家在福建安溪，父亲种铁观音。", 2, 365),
    InContext("tone", "user_preference", "回复邮件要语气客气、先给结论，不要超过五句话。", 4, 3),
    InContext("naming", "user_preference", "代码里的变量用完整英文单词，不要拼音缩写。", 3, 18),
    InContext("glasses", "fact", "近视五百度，配眼镜在宝岛办的会员卡。", 1, 400),
    InContext("visa", "action_item", "护照明年五月到期，去日本之前要先换新的并办签证。", 4, 22),
    InContext("piano", "fact", "客厅的钢琴是二手雅马哈，每半年请李师傅调音。", 2, 100),
    InContext("logo", "feedback", "上次的标志方案太花哨，希望改成单色线条。", 4, 9),
    # traditional Chinese, with the words of Taiwan
    InContext("printer", "fact", "辦公室的印表機在三樓茶水間旁邊，彩色列印要刷卡。", 2, 50),
    InContext("software", "constraint", "公司筆電不能安裝未經資訊部核准的軟體。", 4, 80),
    InContext("network", "fact", "家裡的網路是中華電信，路由器放在書房的櫃子上。", 2, 140),
    InContext("video", "preference", "教學影片請加中文字幕，長度不要超過十分鐘。", 3, 28),
    InContext("mother", "event", "母親下個月要做白內障手術，住院兩天。", 5, 5),
    InContext("taxi", "preference", "到桃園機場習慣前一晚預約計程車。", 2, 160),
    InContext("bicycle", "fact", "腳踏車停在地下二樓，鎖的密碼寫在記事本裡。", 2, 70),
    InContext("project_tw", "project_decision", "會員系統改用簡訊驗證碼登入，取消密碼。", 4, 35),
    InContext("insurance", "fact", "汽車保險每年七月續保，窗口是國泰的陳小姐。", 3, 110),
    InContext("concert", "event", "買了五月天十二月在高雄的演唱會門票兩張。", 3, 14),
    # English
    InContext(
        "editor", "preference", "Writes code in Neovim with a dark theme and relative line numbers.", 2, 55
    ),
    InContext(
        "typescript", "preference", "Prefers TypeScript over plain JavaScript for anything beyond a script."
    ),
    InContext(
        "reviews", "user_preference", "Wants code reviews to point out risks first and style last.", 4, 21
    ),
    InContext(
        "knee", "constraint", "Injured the left knee in spring and must avoid running downhill.", 4, 190
    ),
    InContext("flight", "preference", "Books aisle seats near the front and never checks luggage.", 3, 65),
    InContext("landlord", "event", "The landlord agreed to replace the broken boiler before winter.", 3, 42),
    InContext(
        "meetings", "constraint", "No meetings before ten in the morning, except with the Sydney team.", 4, 16
    ),
    InContext(
        "vegetarian", "preference", "Has been vegetarian since 2019 and cooks mostly Indian dishes.", 4, 210
    ),
    InContext("garden", "fact", "Grows tomatoes and basil on a small balcony facing south.", 1, 95),
    InContext("thesis", "event", "Defended a thesis on distributed consensus at Delft in 2014.", 2, 500),
    InContext("brother", "fact", "Her younger brother Tobias studies architecture in Vienna.", 2, 130),
    InContext(
        "invoices",
        "action_item",
        "Send unpaid invoices to the accountant on the first of every month.",
        4,
        27,
    ),
    InContext(
        "migration", "project_decision", "The billing tables are migrated in two phases, reads first.", 4, 38
    ),
    InContext("outage", "discussion_conclusion", "The outage came from an expired certificate.", 4, 58),
    InContext("guitar", "fact", "Plays a nylon-string guitar and takes lessons on Tuesdays.", 2, 85),
    InContext("spelling", "user_preference", "Uses British spelling in all published articles.", 3, 48),
    # identifiers and mixed text
    InContext("ticket", "action_item", "PAY-2187: refunds fail when the card was replaced.", 3, 7),
    InContext("error", "fact", "E_CONN_4031 means that the upstream closed the socket early.", 3, 88),
    InContext("variable", "reference", "The staging host is set with ORDERS_API_HOST in deploy.env.", 3, 62),
    InContext("version", "constraint", "Stay on node v18.19 until the lambda runtime is updated.", 4, 53),
    InContext("function", "reference", "parseInvoiceDate lives in billing/dates.ts and assumes UTC.", 3, 77),
    InContext("rfc", "reference", "错误响应的格式遵循 RFC 9457，字段 type 必填。", 3, 66),
    InContext("k8s", "project_decision", "推荐服务部署在 K8s 集群 cn-east-3，副本数固定为六。", 4, 29),
    InContext("figma", "reference", "首页改版的 Figma 稿在设计组共享盘 2026-Q3 目录。", 3, 17),
    InContext("oncall", "action_item", "下周轮到我做 on-call，手机号已登记在 PagerDuty。", 4, 1),
    InContext("sql", "feedback", "报表 SQL 里不要用 SELECT *，字段要逐个写出。", 3, 44),
    InContext("laptop", "fact", "工作電腦是 ThinkPad X1 Carbon，序號貼在背面。", 2, 115),
    InContext("airpods", "fact", "AirPods 的左耳上周摔坏了，已经送修。", 2, 8),
    InContext("sprint", "summary", "Sprint 41 完成了退款流程和短信通知，遗留两个缺陷。", 3, 11),
    InContext("wifi", "fact", "会议室 Wi-Fi 的名称是 Atlas-Guest，每天换密码。", 2, 31),
)

ASKED = (
    Asked("zh literal", "严重过敏", ("peanut",)),
    Asked("zh literal", "差旅预算", ("budget",)),
    Asked("zh literal", "结婚纪念日", ("anniversary",)),
    Asked("zh literal", "缓存过期时间", ("cache",)),
    Asked("zh literal", "拼音缩写", ("naming",)),
    Asked("zh literal", "单色线条", ("logo",)),
    Asked("zh 2-char", "咖啡", ("coffee",)),
    Asked("zh 2-char", "钢琴", ("piano", "daughter")),
    Asked("zh 2-char", "灰度", ("canary",)),
    Asked("zh 2-char", "周报", ("weekly",)),
    Asked("zh 2-char", "护照", ("visa",)),
    Asked("zh 2-char", "科幻", ("reading",)),
    Asked("zh 1-char", "猫", ("cat",)),
    Asked("zh 1-char", "辣", ("spicy",)),
    Asked("zh 1-char", "鞋", ("shoes",)),
    Asked("zh 1-char", "我的猫几岁了", ("cat",)),
    Asked("zh 1-char", "猫吃什么好", ("cat",)),
    Asked("zh 1-char", "我的鞋要买多大的", ("shoes",)),
    Asked("zh question", "我们的订单服务最后决定用什么数据库？", ("postgres",)),
    Asked("zh question", "什么时候不可以上线？", ("deploy",)),
    Asked("zh question", "我女儿的钢琴课是星期几", ("daughter",)),
    Asked("zh question", "请问我家的猫叫什么名字呢", ("cat",)),
    Asked("zh question", "帮我看看哪个供应商的合同快到期了", ("vendor",)),
    Asked("zh question", "我上次对标志方案提了什么意见？", ("logo",)),
    Asked("zh question", "马拉松的目标是多少小时来着", ("marathon",)),
    Asked("zh question", "帮我写一封邮件回复客户，语气注意一下", ("tone",)),
    Asked("hans <-> hant", "花生過敏", ("peanut",)),
    Asked("hans <-> hant", "結婚紀念日是哪天", ("anniversary",)),
    Asked("hans <-> hant", "母亲的手术", ("mother",)),
    Asked("hans <-> hant", "汽车保险什么时候续保", ("insurance",)),
    Asked("hans <-> hant", "五月天的演唱会", ("concert",)),
    Asked("hans <-> hant", "護照到期", ("visa",)),
    Asked("region words", "打印机在哪里", ("printer",)),
    Asked("region words", "笔记本电脑可以装什么软件", ("software",)),
    Asked("region words", "家里的网络", ("network",)),
    Asked("region words", "教学视频的字幕", ("video",)),
    Asked("region words", "去机场预约出租车", ("taxi",)),
    Asked("region words", "登录用短信验证码", ("project_tw",)),
    Asked("en morphology", "preferring typescripts", ("typescript",)),
    Asked("en morphology", "how should I review code for them", ("reviews",)),
    Asked("en morphology", "knee injuries", ("knee",)),
    Asked("en morphology", "unpaid invoice", ("invoices",)),
    Asked("en morphology", "migrating the billing table", ("migration",)),
    Asked("en morphology", "what caused the outages", ("outage",)),
    Asked("en morphology", "which seat do they book", ("flight",)),
    Asked("identifiers", "PAY-2187", ("ticket",)),
    Asked("identifiers", "E_CONN_4031", ("error",)),
    Asked("identifiers", "where is ORDERS_API_HOST set?", ("variable",)),
    Asked("identifiers", "v18.19", ("version",)),
    Asked("identifiers", "parseInvoiceDate 在哪个文件", ("function",)),
    Asked("identifiers", "RFC 9457", ("rfc",)),
    Asked("mixed", "K8s 集群的副本数", ("k8s",)),
    Asked("mixed", "首页改版的 figma 设计稿放哪了", ("figma",)),
    Asked("mixed", "下周谁 oncall on-call", ("oncall",)),
    Asked("mixed", "SQL 报表的字段怎么写", ("sql",)),
    Asked("mixed", "ThinkPad 的序列号 X1", ("laptop",)),
    Asked("mixed", "Sprint 41 遗留了哪些缺陷", ("sprint",)),
    Asked("mixed", "会议室的 wifi Wi-Fi 密码", ("wifi",)),
    Asked(
        "long message",
        "我要给客户做一份新的产品介绍幻灯片，大概二十页，包括市场分析、竞品对比和报价，先帮我列一个大纲，"
        "再说说每一页放什么图比较好",
        ("layout",),
    ),
    Asked(
        "long message",
        "周末想和几个朋友去爬山，大家都带点零食，我准备买一些坚果，比如核桃、花生、杏仁之类的，"
        "你觉得还要准备什么东西？",
        ("peanut",),
    ),
    Asked(
        "long message",
        "我們部門下週要搬到新的樓層，行政請我整理一份清單，包含座位表、會議室、印表機和門禁卡的申請方式，"
        "請幫我擬一封公告",
        ("printer",),
    ),
    Asked(
        "long message",
        "I am putting together an offer for a new client who wants a small internal tool with a form, a "
        "table and an export button; should I start it in JavaScript or in TypeScript, and how long will it "
        "take?",
        ("typescript",),
    ),
    Asked(
        "long message",
        "Here is the draft of my article about colour in typography. Please go through it, shorten where you "
        "can, fix the spelling and tell me which paragraph is the weakest.",
        ("spelling",),
    ),
    Asked(
        "long message",
        "Plan a weekend in the mountains for the two of us: trains from Zurich, a hut for one night, one "
        "long walk with running water on the way, mostly downhill on the second day, nothing too expensive.",
        ("knee",),
    ),
    Asked(NOT_BY_WORDS, "适合带什么宠物用品回去", ("cat",)),
    Asked(NOT_BY_WORDS, "dietary restrictions for dinner guests", ("vegetarian", "peanut")),
    Asked(NOT_BY_WORDS, "头戴式音响坏了吗", ("airpods",)),
    Asked(NOT_BY_WORDS, "which relational store did we pick", ("postgres",)),
    Asked(NO_ANSWER, "法国的首都是哪里？", ()),
    Asked(NO_ANSWER, "写一首关于海的诗", ()),
    Asked(NO_ANSWER, "React和Vue哪个更好?", ()),
    Asked(NO_ANSWER, "把这段话翻译成德语", ()),
    Asked(NO_ANSWER, "what is the boiling point of ethanol", ()),
    Asked(NO_ANSWER, "explain quantum entanglement to a child", ()),
    Asked(NO_ANSWER, "解一下这个二元一次方程", ()),
    Asked(NO_ANSWER, "convert 30 miles to kilometres", ()),
    Asked(NO_ANSWER, "光合作用的原理", ()),
    Asked(NO_ANSWER, "今天上海天气怎么样", ()),
    Asked(NO_ANSWER, "电影", ()),
    Asked(NO_ANSWER, "股票行情", ()),
    Asked(NO_ANSWER, "手表", ()),
    Asked(NO_ANSWER, "用 Python 写一个快速排序，并解释它的时间复杂度，最好附上几个测试的例子", ()),
    Asked(NO_ANSWER, "write a haiku about autumn leaves falling into a quiet river at dusk", ()),
)


def recall(found: Mapping[Asked, Sequence[str]], *, among: int = 5) -> dict[str, float]:
    """By category, the share of expected memories that are among the first of those `found`, by name; of
    `no-answer` the share of questions for which nothing was."""
    shares: dict[str, list[float]] = {}
    for asked, names in found.items():
        best = names[:among]
        share = (
            sum(name in best for name in asked.expected) / len(asked.expected) if asked.expected else not best
        )
        shares.setdefault(asked.category, []).append(share)
    return {category: sum(each) / len(each) for category, each in shares.items()}


def by_words(shares: Mapping[str, float]) -> float:
    """The mean over the questions that words can answer."""
    counted = [asked.category for asked in ASKED if asked.category not in {NOT_BY_WORDS, NO_ANSWER}]
    return sum(shares[category] for category in counted) / len(counted)
