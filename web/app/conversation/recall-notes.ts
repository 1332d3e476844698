// Why memories were looked up: the server's own sentences, which it writes in English, in the reader's language.

import { table } from "../language";
import { languageNow } from "../settings";

// `$1` is what stood in brackets. English has the sentences as they come.
const SENTENCES: Readonly<Record<string, RegExp>> = {
  all: /^It stands in the prompt of this session: everything, in full\.$/,
  some: /^It stands in the prompt of this session: (\d+) in full, (\d+) by their summaries, (\d+) counted\.$/,
  changed: /^It was changed since this session began\.$/,
  making: /^Something is to be made: what is known of the user may matter\.$/,
  general: /^Everybody would get the same answer, unless a memory has it\.$/,
  undecided: /^Nothing says whether memories help: summaries of what fits will do\.$/,
  personal: /^It is about the user themselves \(“(.*)”\)\.$/,
  history: /^It refers to an earlier conversation \(“(.*)”\)\.$/,
  plans: /^It is about plans and decisions \(“(.*)”\)\.$/,
  recent: /^Only of the last (\d+) days \(“(.*)”\)\.$/,
  unusable: /^The model that was asked gave no usable answer\.$/,
  asked: /^A model was asked: (.*)$/s,
};

const AS_IT_IS = {
  all: "", some: "", changed: "", making: "", general: "", undecided: "", personal: "", history: "", plans: "", recent: "",
  unusable: "", asked: "",
};

const words = table(
  AS_IT_IS,
  {
    all: "全部记忆都已完整写入本会话的提示词。", some: "本会话的提示词中：完整 $1 条，摘要 $2 条，另有 $3 条只计数。", changed: "本会话开始之后有过改动。",
    making: "要创作内容：关于用户的记忆可能有用。", general: "一般性问题：除非记忆中有相关内容，否则答案对谁都一样。",
    undecided: "无法判断是否需要记忆：提供相关记忆的摘要。", personal: "与用户本人有关（“$1”）。", history: "提到了以前的对话（“$1”）。",
    plans: "与计划和决定有关（“$1”）。", recent: "只限最近 $1 天（“$2”）。", unusable: "询问了模型，但没有得到可用的判断。", asked: "询问了模型：$1",
  },
  {
    all: "全部記憶都已完整寫入本對話的提示詞。", some: "本對話的提示詞中：完整 $1 條，摘要 $2 條，另有 $3 條只計數。", changed: "本對話開始之後有過改動。",
    making: "要創作內容：關於使用者的記憶可能有用。", general: "一般性問題：除非記憶中有相關內容，否則答案對誰都一樣。",
    undecided: "無法判斷是否需要記憶：提供相關記憶的摘要。", personal: "與使用者本人有關（「$1」）。", history: "提到了以前的對話（「$1」）。",
    plans: "與計畫和決定有關（「$1」）。", recent: "只限最近 $1 天（「$2」）。", unusable: "詢問了模型，但沒有得到可用的判斷。", asked: "詢問了模型：$1",
  },
);

// A note that is not known, such as one of a newer server, stays as it is.
export function noteInWords(note: string): string {
  const found = Object.entries(SENTENCES).find(([, sentence]) => sentence.test(note));
  const text = found && words[languageNow()][found[0] as keyof typeof AS_IT_IS];
  return found && text ? note.replace(found[1], text) : note;
}
