import { table } from "../language";

export const words = table(
  {
    preview: "Preview", previewOf: (name: string) => `Preview of ${name}`, source: "Source", rendered: "Preview", close: "Close the preview", copy: "Copy", download: "Download",
    width: "Width of the preview", kinds: { html: "Web page", svg: "Drawing", mermaid: "Diagram", markdown: "Document" },
    isolated: "It runs by itself: it reaches neither your chats nor the network.", loading: "One moment…", empty: "There is nothing to show yet.",
    tooLarge: "It is too large to be shown here. Download it instead.", noDiagram: "This diagram cannot be drawn:", frame: (name: string) => `${name}, as it looks`,
  },
  {
    preview: "预览", previewOf: (name: string) => `预览：${name}`, source: "源码", rendered: "预览", close: "关闭预览", copy: "复制", download: "下载",
    width: "预览的宽度", kinds: { html: "网页", svg: "图形", mermaid: "图表", markdown: "文档" },
    isolated: "它独立运行，接触不到你的会话，也不能联网。", loading: "请稍候…", empty: "还没有内容可显示。",
    tooLarge: "文件太大，无法在这里显示，请下载查看。", noDiagram: "无法绘制这张图表：", frame: (name: string) => `${name} 的显示效果`,
  },
  {
    preview: "預覽", previewOf: (name: string) => `預覽：${name}`, source: "原始碼", rendered: "預覽", close: "關閉預覽", copy: "複製", download: "下載",
    width: "預覽的寬度", kinds: { html: "網頁", svg: "圖形", mermaid: "圖表", markdown: "文件" },
    isolated: "它獨立執行，接觸不到你的對話，也不能連線。", loading: "請稍候…", empty: "還沒有內容可顯示。",
    tooLarge: "檔案太大，無法在這裡顯示，請下載檢視。", noDiagram: "無法繪製這張圖表：", frame: (name: string) => `${name} 的顯示效果`,
  },
);
