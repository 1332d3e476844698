"""Parts of a text that could steer a model: commands against its user, which are never stored, and statements
that a stranger could want to plant. All functions work on the plain form of the text. Pure."""

import re

from gateway.lexical import plain_form

_COMMAND = re.compile(r"""(?xa)
      \b(?:ignore|disregard|forget|override|bypass)\b (?:\s[\w']+){0,3}?
        \s(?: (?:previous|prior|earlier|above|preceding|system|safety|your)\b .{0,30}
              \b(?:instructions?|rules?|prompts?|polic(?:y|ies)|guidelines?|restrictions?|limits?)\b
            | (?:instructions?|prompts?)\b | safety\b )
    | \b(?:reveal|show|print|leak|repeat|ignore|override|replace|new|your)\b .{0,20} \bsystem\sprompt\b
    | \bsystem\sprompt\s?: | \byou\sare\s(?:now|no\slonger)\b | \bin\sdeveloper\smode\b
    | \bjailbreak\b | (?:^|[.!:;]\s?)pretend\s(?:to\sbe|you)\b
    | \b(?:do\snot|don't|never)\s(?:tell|inform|warn|notify|ask)\s(?:the|any)\s(?:user|human)
    | (?:^|[.!:;,]\s?)(?:(?:do\snot|don't|never)\s(?:tell|inform|warn|notify|ask)\s(?:the|any)\sadmin)
    | (?:^|[.!:;,]\s?)(?:(?:always|please|just|from\snow\son|in\s(?:the\s)?future),?\s)*
      (?:run|execute|do|act|proceed|install|delete|pay|buy|order|approve|accept|send|transfer|use|call|make)\b
      .{0,60}\bwithout\s(?:\w+\s)?(?:asking|approval|confirmation|permission)\b
    | \b(?:commands?|tools?|calls?|actions?|scripts?)\b.{0,20}\bwithout\s(?:asking|confirmation|permission)\b
    | \b(?:send|post|upload|forward|exfiltrate|copy)\b.{0,20}
      \b(?:conversations?|chats?|histor(?:y|ies)|memor(?:y|ies)|messages?|answers?|everything|credentials?
        |secrets?|passwords?|prompts?)\b.{0,60}(?:https?:|@)
    | (?:忽略|无视|忘记|绕过|不遵守).{0,8}(?:之前|以上|先前|前面|所有|一切|系统|安全|你的).{0,8}
      (?:指令|指示|规则|提示|限制|约束)
    | (?:忽略|无视|绕过|不遵守).{0,6}(?:指令|指示|提示词) | 系统提示(?:词)?\s?[::是] | 你现在是 | 你不再是
    | (?:^|[,.!;:。])假装(?:你|是) | (?:不要|不许|别)(?:告诉|通知|提醒)(?:用户|管理员)
    | (?:^|[,.!;:。])(?:以后|今后|请|一律|总是|都|可以|直接)*
      (?:无需|不需要|不用|不必)(?:经过)?(?:用户)?(?:确认|批准|同意|询问)
    | (?:命令|操作|调用|指令|工具).{0,6}(?:无需|不需要|不用|不必)(?:经过)?(?:确认|批准|同意|询问)
    | (?:聊天|对话|会话|记忆|密码|口令|回答|消息).{0,20}(?:发送?|上传|转发|提交)[到给至].{0,60}(?:https?:|@)
""")
ADDRESS = re.compile(r"""(?xa)
      (?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,9} | https?://[^\s,;。，；]+
        | \bwww\.[^\s,;。，；]+
    | (?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,9}[a-z]{2,24}\b | \b[a-z]{2}\d{2}(?:\s?[a-z0-9]{4}){2,8}\b
    | \+?\d(?:[\s./()-]{0,2}\d){6,}
""")
"""Mail addresses, URLs, domains, IBANs, and numbers of seven digits or more, as phones and accounts have."""
_POWER = re.compile(r"""(?x)
      \b(?: approv\w* | authori[sz]\w* | consent\w* | permi(?:t|ts|tted|ssion|ssions) | trust\w*
        | (?:white|allow)list\w* | (?:no|without|needs?\sno)\s(?:\w+\s)?(?:confirmation|check|checks)
        | two[\s-]factor | 2fa | mfa | root | sudo | admin\w* | firewall | antivirus | disabl\w*
        | (?:switch|turn)\w*\soff | bypass\w* | harmless | credentials? )\b
    | 批准 | 同意 | 授权 | 许可 | 信任 | 白名单
    | (?:无需|不用|不必|不需要|免)(?:\w{0,4})(?:确认|批准|验证|审批)
    | (?:两步|二次|双重)验证 | 管理员 | 关(?:闭|掉) | 停用 | 绕过 | 没有危险
""")
"""Words for permissions and protections."""
_DIRECTION = re.compile(r"""(?x)
      \b(?: always | never | every | each | must | should | shall | ought | ha(?:s|ve)\sto | (?:is|are)\sto
        | needs?\sto | from\snow\son | in\s(?:the\s)?future | whenever | instead | only | by\sdefault
        | want\w* | wish\w* | prefer\w* | like[sd]? | favou?r\w* | love[sd]? | insist\w* | expect\w*
        | recommend\w* | suggest\w* | mention\w* | answer\w* | repl(?:y|ies) | respond\w* | append\w* | add\w*
        | include[sd]? | begin\w* | open\w*\swith | end\w*\swith | avoid\w* | hide\w* | remember\w*
        | e-?mails? | b?cc | forward\w* | send\w* | sent | upload\w* | download\w* | install\w* | execut\w*
        | delet\w* | commands? | scripts? | links? | websites? | urls? | passw\w* | tokens? | keys?
        | pay\w* | paid | invoices? | bank\w* | accounts? | transfer\w* | wallet | bitcoin | crypto\w*
        | coins? | invest\w* | refund\w* | buy\w* | purchas\w* | phone | hotline | support | percent )\b
    | 总是 | 每次 | 每个 | 每当 | 一律 | 必须 | 应[该当]? | 要 | 需 | 以后 | 今后 | 从现在 | 只能 | 默认
    | 统一
    | 希望 | 想 | 喜欢 | 偏好 | 偏爱 | 推荐 | 建议 | 提[到及醒]? | 回答 | 回复 | 答复 | 附[上带] | 加[上一]
    | 避免 | 隐瞒 | 记住 | 邮件 | 邮箱 | 抄送 | 转发 | 发[送给到] | 上传 | 下载 | 安装 | 执行 | 运行 | 删除
    | 命令 | 脚本 | 链接 | 网[站址] | 密码 | 口令 | 付 | 汇款 | 转账 | 发票 | 银行 | 账户 | 账号 | 钱包
    | 币 | 投资 | 退款 | 购买 | 采购 | 电话 | 热线 | 客服 | 不要 | 不用 | 不想 | 不许 | 禁止 | 别
""")
"""Words of wishes, orders, money and contacts: what a page can know of none of its readers."""


def is_injection(text: str) -> bool:
    """Whether the text orders a model to act against its rules or behind its user's back."""
    return _COMMAND.search(plain_form(text)) is not None


def mentions_authority(text: str, user_text: str = "") -> bool:
    """Whether the text names an address, an account or a phone that `user_text` does not, or mentions
    permissions and protections in words that `user_text` lacks."""
    return _has(text, user_text, ADDRESS, _POWER)


def is_plantable(text: str, user_text: str = "") -> bool:
    """Whether the text could be of use to a stranger who has it remembered, in words that `user_text` lacks:
    it mentions wishes, duties, money or contacts, or it `mentions_authority`."""
    return _has(text, user_text, ADDRESS, _POWER, _DIRECTION)


def _has(text: str, user_text: str, *patterns: re.Pattern[str]) -> bool:
    known = plain_form(user_text)
    return any(each[0] not in known for pattern in patterns for each in pattern.finditer(plain_form(text)))
