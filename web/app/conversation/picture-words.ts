import { table } from "../language";

export const words = table(
  {
    enlarge: (name: string) => `Enlarge: ${name}`, picture: (name: string) => `Picture: ${name}`, before: "Picture before", after: "Next picture",
    place: (at: number, count: number) => `${at} of ${count}`, download: "Download", broken: "This picture cannot be shown. Download it instead.",
  },
  {
    enlarge: (name: string) => `放大：${name}`, picture: (name: string) => `图片：${name}`, before: "上一张", after: "下一张",
    place: (at: number, count: number) => `第 ${at} 张，共 ${count} 张`, download: "下载", broken: "这张图片无法显示，请下载查看。",
  },
  {
    enlarge: (name: string) => `放大：${name}`, picture: (name: string) => `圖片：${name}`, before: "上一張", after: "下一張",
    place: (at: number, count: number) => `第 ${at} 張，共 ${count} 張`, download: "下載", broken: "這張圖片無法顯示，請下載檢視。",
  },
);
