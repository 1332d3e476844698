// A message that waited for the turns before it and was taken back: the log has it, and nothing came of it.

import type { Turn } from "@chat-gateway/client";

export const isWithdrawn = ({ start, outcome, parts }: Turn): boolean =>
  start?.queued_ms !== undefined && outcome?.status === "cancelled" && outcome.iterations === 0 && parts.length === 0;
