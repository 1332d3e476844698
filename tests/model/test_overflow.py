# ruff: noqa: E501 - the wordings as they were sent
"""What endpoints say of a prompt that is too long, and what they say of other things."""

import pytest

from gateway.errors import Overflow
from gateway.model.overflow import overflow_in
from gateway.model.upstream_failures import failure_of_status
from tests.product import ModelError

TOO_LONG: dict[str, tuple[int | None, int | None]] = {
    # message: (window, prompt), as far as it tells them
    "prompt is too long: 213462 tokens > 200000 maximum": (200_000, 213_462),
    "input length and `max_tokens` exceed context limit: 192571 + 20000 > 200000, decrease input length or "
    "`max_tokens` and try again": (200_000, 192_571),
    "Prompt is too long": (None, None),
    "The model returned the following errors: Input is too long for requested model.": (None, None),
    "BedrockException: Input is too long for requested model.": (None, None),
    "The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum": (
        200_000,
        903_884,
    ),
    "too many total text bytes and input tokens: prompt exceeds the model's context window": (None, None),
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please "
    "reduce the length of the messages.": (8192, 8545),
    "This model's maximum context length is 4097 tokens, however you requested 4116 tokens (3860 in your prompt; 256 "
    "for the completion). Please reduce your prompt; or completion length.": (4097, 3860),
    "Your input exceeds the context window of this model. Please adjust your input and try again.": (
        None,
        None,
    ),
    "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576, but got a string "
    "with length 2000000 instead.": (None, None),
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 281325 tokens. Please reduce "
    "the length of the messages.": (272_000, 281_325),
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).": (
        1_048_575,
        1_196_265,
    ),
    "Unable to submit request because the input token count is 1100000 but model only supports up to 1048576. Reduce "
    "the input token count and try again.": (1_048_576, 1_100_000),
    "This model's maximum prompt length is 131072 but the request contains 136973 tokens.": (
        131_072,
        136_973,
    ),
    "This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens (1227853 of "
    "text input, 353 of tool input, 65535 in the output). Please reduce the length of either one, or use the "
    '"middle-out" transform to compress your prompt automatically.': (1_048_576, 1_227_853),
    "Please reduce the length of the messages or completion.": (None, None),
    "Please reduce the length of the messages or completion. Current length is 149000 while limit is 131072": (
        131_072,
        None,
    ),
    "invalid params, context window exceeds limit (2013)": (None, None),
    "invalid params, context window exceeds limit": (None, None),
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)": (262_144, None),
    "Your request exceeded model token limit: 8192": (8192, None),
    "Prompt exceeds max length": (None, None),
    "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]": (129_024, None),
    "Range of input length should be [1, 983616]": (983_616, None),
    "Input length 203743 exceeds the maximum length 202752": (202_752, 203_743),
    "Total tokens of image and text exceed max message tokens. Request id: 0217": (None, None),
    "The parameter messages specified in the request are not valid: total message token length exceed model limit": (
        None,
        None,
    ),
    "Prompt contains 40012 tokens and 0 draft tokens, too large for model with 32768 maximum context length": (
        32_768,
        None,
    ),
    "too many tokens: size limit exceeded by 19296 tokens. Try using shorter or fewer inputs. The limit for this model "
    "is 132000 tokens.": (132_000, None),
    "Too many tokens: the total number of tokens in the prompt exceeds the limit of 4081. Try using a shorter prompt, "
    "or enable prompt truncating.": (4081, None),
    "The total length of all messages is too long.": (None, None),
    "Input validation error: `inputs` must have less than 1024 tokens. Given: 1168": (1024, None),
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 8740 `inputs` tokens and 500 "
    "`max_new_tokens`": (4096, 8740),
    "The input (61709 tokens) is longer than the model's context length (40960 tokens).": (40_960, 61_709),
    "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens). Use a shorter input or enable "
    "--allow-auto-truncate.": (59_862, 160_062),
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 "
    "tokens: 35000 tokens from the input messages and 5000 tokens for the completion.": (32_768, 35_000),
    "This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt "
    "contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the "
    "input prompt or the number of requested output tokens.": (262_144, 134_145),
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 65536 tokens "
    "and your request has 57879 input tokens (8192 > 65536 - 57879). None": (65_536, 57_879),
    "The decoder prompt (length 9100) is longer than the maximum model length of 8192. Make sure that "
    "`max_model_len` is no smaller than the number of text tokens.": (8192, 9100),
    "request (4258 tokens) exceeds the available context size (4096 tokens), try increasing it": (4096, 4258),
    "the request exceeds the available context size. try increasing the context size or enable context shift": (
        None,
        None,
    ),
    "the request exceeds the available context size, try increasing it": (None, None),
    "input is too large to process. increase the physical batch size": (None, None),
    "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: "
    "4096). Try to load the model with a larger context length, or provide a shorter input.": (4096, None),
    "Trying to keep the first 14538 tokens when context the overflows. However, the model is loaded with context "
    "length of only 2048 tokens, which is not enough. Try to load the model with a larger context length, or provide a "
    "shorter input": (2048, None),
    "prompt too long; exceeded max context length by 4 tokens": (None, None),
    "input length exceeds the context length": (None, None),
    "Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)": (2048, 5056),
    "Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (1)": (
        None,
        200,
    ),
    "The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)": (
        8192,
        9351,
    ),
    "prompt token count of 136789 exceeds the limit of 128000": (128_000, 136_789),
    "litellm.ContextWindowExceededError: ContextWindowExceededError: OpenAIException - too many input tokens": (
        None,
        None,
    ),
    "The prompt is too long: 270000, model maximum context length: 262143": (262_143, None),
    "Input is too long. Max length is 4096 tokens": (None, None),
    "context_length_exceeded": (None, None),
    "This model's context window of 32768 tokens was exceeded by the conversation": (32_768, None),
    "The conversation history no longer fits in the model's context": (None, None),
    "输入长度超过模型最大长度限制": (None, None),
    "输入内容过长，请缩短后重试": (None, None),
    "请求的 token 数超出模型上下文窗口": (None, None),
    "Prompt 超长": (None, None),
    "輸入超過模型的上下文長度": (None, None),
    "提示詞過長": (None, None),
    "对话内容超过了最大上下文长度，请新建会话": (None, None),
    "请求token长度大于模型最大token长度": (None, None),
    "消息总长度超限": (None, None),
    "Prompt too long: 41911 tokens exceeds max context window of 32768 tokens": (32_768, 41_911),
    "Prompt too long: 5152 tokens exceeds max_seq_len 2048 (leave room for output tokens)": (None, 5152),
    "input prompt is too big compared to KV size, please increase KV size": (None, None),
    "Input prompt is too big compared to KV size. Please try increasing KV size.": (None, None),
    "Prompt is 11543 tokens but the model context window is 4096 tokens.": (4096, 11_543),
    "Execution error: Prefill decode failed: Decode Error 1: NoKvCacheSlot": (None, None),
    "could not find a KV slot for the batch (try reducing the size of the batch or increase the context)": (
        None,
        None,
    ),
    "Request body too large for gpt-4o model. Max size: 8000 tokens.": (8000, None),
    "Input length (265330) exceeds model's maximum context length (262144).": (262_144, 265_330),
    "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.": (131_040, 131_393),
    "tokens in request more than max tokens allowed": (None, None),
    "[Local Message] Input (or history) is too long, please reduce input or clear history by refreshing this page.": (
        None,
        None,
    ),
    "CONTENT_LENGTH_EXCEEDS_THRESHOLD: Input is too long.": (None, None),
    "内容过长，请分段提问。": (None, None),
}


SHORT = [
    "Token limit exceeded: your prompt has 9000 tokens, the model accepts 8192",
    "input is too long",
    "Request too large: 250000 tokens > 200000",
    "Requested tokens (5210) exceed context window of 4096",
    "ValueError: Requested tokens (5210) exceed context window of 2048",
    "The number of input tokens (33000) exceeds the model's limit (32768)",
    "sequence length 5000 > max 4096",
    "Maximum context length exceeded",
    "max context length reached",
    "Context size has been exceeded.",
    "context size exceeded",
    "the context is full",
    "Conversation too long, please start a new chat",
    "The model's context limit has been reached",
    "Your messages are too long for this model",
    "messages too long",
    "input_tokens exceeds max_input_tokens 32000",
    "exceeds maximum input length of 32000",
    "Prompt has 5000 tokens, maximum allowed is 4096",
    "This request has 300000 tokens, which is more than the 262144 tokens supported",
    "the total number of tokens (input 9000 + output 2000) exceeds 8192",
    "输入token数量超过限制",
    "tokens 数量超过模型上限 32768",
    "上下文过长",
    "当前对话长度已超出限制",
    "輸入文字過長，超出限制",
    "input text is too long, maximum 32k tokens",
    "prompt_too_long",
    "prompt exceeds maximum allowed tokens",
    "total_tokens exceed max_seq_len: 9000 > 8192",
    "Token indices sequence length is longer than the specified maximum sequence length for this model (18294 > 16384)",
    "Input length of input_ids is 2673, but `max_length` is set to 2048",
    "Please reduce your prompt",
    "failed to process prompt: n_ctx exceeded",
    "Error: prompt too long (570 tokens, max 508)",
    "content length exceeds the model's context",
    "Query or prefix prompt is too long, you can reduce the prefix prompt",
    "tokens_limit_reached",
    "total tokens (prompt + max_tokens) 9000 exceed the limit 8192",
    "Too much text: the model can only read 8192 tokens",
    "The number of tokens in the prompt (8200) is larger than the context size (8192)",
    "KV cache is full",
    "上下文窗口已满",
    "上下文長度已滿",
    "問題過長，請縮短",
    "messages 参数过长",
    "模型最大长度超限",
    "输入加输出长度超过限制",
]
"""Wordings of others, or of none yet, which mean the same."""

OTHERWISE = [
    "max_tokens must be at most 8192",
    "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for this model",
    "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
    "The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value "
    "<= 4096, but got 8192 instead.",
    "Range of max_tokens should be [1, 8192]",
    "`max_new_tokens` must be <= 192",
    "The output token limit was exceeded",
    "output tokens exceed the maximum of 4096",
    "thinking.budget_tokens must be less than max_tokens",
    "max_tokens must be greater than thinking.budget_tokens",
    "Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000",
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
    "Too many tokens, please wait before trying again.",
    "Too many tokens per day, please wait before trying again.",
    "Number of input tokens has exceeded your per-minute limit",
    "You exceeded your current quota, please check your plan and billing details.",
    "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    "This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 120",
    "Your credit balance is too low to access the API.",
    "input must be a string",
    "messages: at least one message is required",
    "messages: text content blocks must be non-empty",
    "messages.1.content.0.text.text: Field required",
    "prompt: Input should be a valid string",
    "maximum number of tools exceeded: 130 > 128",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140.",
    "tools.0.custom.name: String should have at most 64 characters",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got 66.",
    "tools.3.input_schema: schema nesting depth exceeds the limit of 10",
    "image exceeds the maximum size 5 MB",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
    "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    "Too many images and documents: 101 + 0 > 100",
    "The PDF has too many pages: the maximum of 100 PDF pages was exceeded",
    "The file is too large for the message",
    "Too many stop sequences: at most 4 are allowed",
    "temperature must be less than or equal to 1",
    "top_p: Input should be less than or equal to 1",
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "metadata.user_id: String should have at most 256 characters",
    "Request timed out: it exceeded the maximum time of 600 s",
    "The request exceeded the concurrency limit of 2",
    "the server ran out of memory while it processed the prompt",
    "model 'gpt-9' does not exist",
    "registry.ollama.ai/library/gemma3:270m does not support tools",
    "Invalid API key: the token has expired",
    "Authentication token is too long",
    "Overloaded",
    "Internal server error",
    "upstream connect error or disconnect/reset before headers",
    "The model is currently loading, please try again later",
    "prompt caching is not supported by this model",
    "This model does not support a context of images",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "The `content[].thinking` in the thinking mode must be passed back to the API",
    "Invalid parameter: 'input' of the tool call is not valid JSON",
    "The response was filtered due to the prompt triggering content management policy",
    "Request header field too large",
    "batch size exceeds the maximum of 100 requests",
    "请求频率超过限制，请稍后重试",
    "账户余额不足，请充值",
    "已超出本月配额",
    "图片大小超过 5MB 限制",
    "工具数量超过最大限制",
    "max_tokens 超过最大值 8192",
    "参数错误：输入不能为空",
    "並發請求數超過限制",
    "Function name too long",
    "The prompt contains forbidden words",
    "messages: roles must alternate",
    "input_schema is too large",
    "your message was flagged",
    "token is invalid",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "max_tokens too large",
    "max_completion_tokens is too large: 8192. The maximum is 4096",
    "n must be less than 128",
    "tool result is too large: 10 MB",
    "Request body too large (32 MB)",
    "context deadline exceeded",
    "context canceled",
    "The request was rejected because it is too large: 40 MB > 32 MB",
    "Number of messages exceeds the maximum of 1000",
    "too many messages",
    "too many requests",
    "Requests exceed the limit of your plan",
    "seed must be at most 4294967295",
    "user message content must not be empty",
    "The prompt cache is full",
    "Exceeded maximum retries",
    "The maximum number of concurrent requests was reached",
    "logprobs must be at most 20",
    "the audio input is longer than 30 minutes",
    "网络请求过多",
    "请求过于频繁",
    "文件过大",
    "输入参数不合法",
    "API key 长度错误",
    "请求超过限制次数",
    "context_management is not supported",
    "Your input was blocked",
    "The system prompt is required",
    "the length of tool_choice exceeds",
    "max_tokens (384000) exceeds model's maximum output tokens (65536) for model deepseek-v4-flash:0731",
    "input is too long for this field",
    "Request body too large. Max 50KB allowed.",
    "prompt_cache_key too long",
    "The model produced too many tokens without a stop",
    "The organization has exceeded its monthly token limit",
    "Daily token limit reached",
    "You have exceeded your free token limit",
    "API token limit exceeded",
    "Token limit per user exceeded, upgrade your plan",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    "输出内容过长",
    "输出长度超过限制",
    "该令牌额度已用尽 TokenStatusExhausted[sk-x]",
    "用户 token 已过期",
    "用户名过长",
    "model runner has unexpectedly stopped, this may be due to resource limitations",
    "CUDA out of memory while processing the prompt",
    "many-image requests: image dimensions exceed max allowed size: 2000 pixels",
    "json schema exceeds the limit of 5000 characters",
]


def test_the_table_is_large_enough_to_mean_something() -> None:
    """At least forty wordings of each kind."""
    assert len(TOO_LONG) >= 40
    assert len(OTHERWISE) >= 40


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_prompt_that_is_too_long_is_understood_in_the_words_of_every_endpoint(message: str) -> None:
    """By what the words mean, with the numbers that they tell."""
    found = overflow_in(message)
    assert found is not None
    assert (found.window, found.prompt) == TOO_LONG[message]


@pytest.mark.parametrize("message", SHORT)
def test_what_counts_is_the_meaning_and_not_the_wording(message: str) -> None:
    """No endpoint's sentence is needed to the letter."""
    assert overflow_in(message) is not None


@pytest.mark.parametrize("message", OTHERWISE)
def test_limits_of_other_things_are_not_taken_for_a_prompt_that_is_too_long(message: str) -> None:
    """Compressing a conversation would not help against them."""
    assert overflow_in(message) is None


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("message", TOO_LONG)
def test_a_refusal_with_such_words_is_a_context_overflow(message: str, status: int) -> None:
    """Whatever status the endpoint gives it, the failure's code is that, and it carries the numbers."""
    failure = failure_of_status(status, {}, {"error": {"type": "invalid_request_error", "message": message}})
    assert failure.code == "context_overflow"
    assert not failure.retryable
    assert failure.overflow == overflow_in(message)


@pytest.mark.parametrize("message", OTHERWISE)
def test_other_refusals_keep_their_codes(message: str) -> None:
    """None of them is a context overflow."""
    assert failure_of_status(400, {}, {"error": {"message": message}}).code != "context_overflow"


def test_413_is_an_overflow_whatever_its_body() -> None:
    """Proxies answer so with a page of their own."""
    failure = failure_of_status(413, {}, "<html>413 Request Entity Too Large</html>")
    assert failure.code == "context_overflow"


def test_room_for_an_answer_is_what_the_window_leaves_beside_the_prompt() -> None:
    """Only where both numbers are told and the prompt by itself fits."""
    assert Overflow(window=8192, prompt=1000, output=8000).room == 7192
    assert Overflow(window=8192, prompt=9000).room is None
    assert Overflow(window=8192).room is None
    assert Overflow(prompt=100).room is None


def test_asked_output_is_read_where_it_is_told() -> None:
    """vLLM names all three numbers."""
    found = overflow_in(
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, "
        "8000 in the completion). Please reduce the length of the messages or completion."
    )
    assert found == Overflow(window=8192, prompt=1000, output=8000)


def test_a_long_message_is_read_in_bounded_time() -> None:
    """An endpoint that repeats a whole prompt in its error costs no time worth naming."""
    for text in ("prompt " * 100_000, "tokens exceed " * 50_000, "输入" * 200_000, "a" * 1_000_000):
        assert overflow_in(text) is None or isinstance(overflow_in(text), Overflow)


def test_errors_without_numbers_have_no_overflow_numbers() -> None:
    """A failure of another kind carries none."""
    error = ModelError("x", code="upstream_error", retryable=False)
    assert error.overflow is None
