"""What the demo says, in English and Chinese."""

from gateway.demo.question import DemoPrompt

_WORDS = {
    "calls": ("Let me call {}.", "我来调用 {}。"),
    "skill": ("I followed the skill `{}`: {} of its {} steps.", "我按技能 `{}` 做了：{} 步，共 {} 步。"),
    "gave": ("`{}` returned:", "`{}` 返回："),
    "failed": ("`{}` failed: {}", "`{}` 出错了：{}"),
    "denied": ("`{}` was not run: {}", "`{}` 没有执行：{}"),
    "said": ("The closest that you told me: “{}”", "你告诉过我的话里，最接近的是：“{}”"),
    "nothing": ("I find nothing about it in what you told me.", "你告诉过我的话里，我没有找到。"),
    "memories": ("What I was told that you said before:", "我得知你以前说过："),
    "saved": ("I remember from now on: “{}”", "我记住了：“{}”"),
    "files": ("You attached:", "你附上了："),
    "thought": (
        "The user says: “{}”. I look whether the tour has an answer.",
        "用户说：“{}”。我看看导览里有没有答案。",
    ),
    "long": (
        "Line {} of {}: a long answer of the built-in demo model, for you to press Stop or reload the page.",
        "第 {} 行，共 {} 行：这是内置演示模型的长回答，你可以随时按停止，也可以刷新页面，再接着往下读。",
    ),
    "who": (
        "I am the built-in demo model of this gateway, not a language model: I call tools and quote them, "
        "and know no more than a short tour. Try to say:",
        "我是网关内置的演示模型，不是真正的大语言模型：只会调用工具并引用结果，此外只有一个简短的导览。可以试着说：",
    ),
    "demo": (
        "(I am the built-in demo model: I call tools and quote them, I do not reason.)",
        "（我是内置的演示模型：只调用工具并引用结果，不会推理。）",
    ),
    "real": (
        "For a real model set `ANTHROPIC_API_KEY` (or `ANTHROPIC_BASE_URL`) and start the gateway again.",
        "要使用真正的模型，请设置 `ANTHROPIC_API_KEY`（或 `ANTHROPIC_BASE_URL`），然后重新启动网关。",
    ),
}


def phrase(what: str, question: DemoPrompt, *values: object) -> str:
    """One of these phrases, in the language of the question."""
    return _WORDS[what][question.language != "english"].format(*values)
