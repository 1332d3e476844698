// What the reader used, month by month.

import type { api } from "@chat-gateway/client";

import { client } from "../state";
import { Month } from "./usage/Month";

const read = (query: api.MonthQuery) => client.usageOfMonth(query);
const save = (query: api.MonthQuery) => client.usageTable(query);

export default function UsagePage() {
  return <section className="page"><Month read={read} save={save} /></section>;
}
