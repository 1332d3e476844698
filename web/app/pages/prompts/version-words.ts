// The words of versions of the prompt.

import { table } from "../../language";

export const words = table(
  {
    save: "Save for everybody", note: "What for", fixed: "This part is never cut: every answer to everybody goes by it. Try it before you save.",
    saved: "Saved. It holds from the next message on.", versions: "Versions", none: "Nothing was written in place of its file.", edited: "written here",
    version: (number: string, who: string, at: string) => `${number}: ${who}, ${at}`, useFile: "Use the file again", isFile: "the file again", take: "Take into the editor",
    changes: "What it changed", more: "Show older ones", usesFile: "Its file holds again, from the next message on.",
  },
  {
    save: "保存并对所有人生效", note: "用途说明", fixed: "这一部分从不截短：所有人的每个回答都以它为准。保存前请先试用。",
    saved: "已保存，从下一条消息起生效。", versions: "版本", none: "还没有内容取代它的文件。", edited: "在此编写",
    version: (number, who, at) => `${number}：${who}，${at}`, useFile: "重新使用文件", isFile: "重新使用文件", take: "放入编辑框",
    changes: "改动内容", more: "显示更早的", usesFile: "从下一条消息起重新使用文件。",
  },
  {
    save: "儲存並對所有人生效", note: "用途說明", fixed: "這一部分從不截短：所有人的每個回答都以它為準。儲存前請先試用。",
    saved: "已儲存，從下一則訊息起生效。", versions: "版本", none: "還沒有內容取代它的檔案。", edited: "在此編寫",
    version: (number, who, at) => `${number}：${who}，${at}`, useFile: "重新使用檔案", isFile: "重新使用檔案", take: "放入編輯框",
    changes: "改動內容", more: "顯示更早的", usesFile: "從下一則訊息起重新使用檔案。",
  },
);
