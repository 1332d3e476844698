// What the server or the network said no with.

import { Refused } from "@chat-gateway/client";

export const codeOf = (error: unknown): string => (error as { code?: string } | null)?.code ?? "";

// Whether the same request can succeed in a while.
export function mayHelp(error: unknown): boolean {
  return !(error instanceof Refused) || error.retryable || error.status === 429 || error.status >= 500;
}
