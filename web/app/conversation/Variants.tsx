// ‹ 2/3 ›: where a turn was asked more than once. Answers to the same question are told apart below the answer, other
// questions below the question.

import { show, type Turn } from "@chat-gateway/client";

import { useMayWrite } from "../sidebar/shared-chats";
import { app, client, useApp } from "../state";
import { ActionButton } from "./ActionButton";
import { useOpenTurnId } from "./running";
import { useSpeech } from "./speech";

interface Props {
  readonly session: string;
  readonly turn: Turn;
  readonly below: "question" | "answer";
  readonly onTrouble: (error: unknown) => void;
}

const ALONE: readonly string[] = [];

export function Variants({ session, turn, below, onTrouble }: Props) {
  const { words } = useSpeech();
  const all = useApp(({ conversation }) => turn.place === "branch" ? conversation.children.get(turn.parentId ?? "") : undefined) ?? ALONE;
  const isOneQuestion = useApp(({ conversation }) => all.every((id) => conversation.turns.get(id)?.input === turn.input));
  const isFree = useOpenTurnId() === undefined;
  const mayWrite = useMayWrite(session);
  const here = all.indexOf(turn.id);
  if (all.length < 2 || here < 0 || (below === "answer") !== isOneQuestion) return null;
  const to = (index: number, sign: string, label: string) => (
    <ActionButton label={label} title={label} disabled={!isFree || all[index] === undefined} onTrouble={onTrouble}
      act={() => switchTo(session, turn, index, all[index] ?? turn.id, mayWrite)}>{sign}</ActionButton>
  );
  return (
    <span className="variants">
      {to(here - 1, "‹", words.variantBefore)}
      <span className="place">{here + 1}/{all.length}</span>
      {to(here + 1, "›", words.variantAfter)}
    </span>
  );
}

// Who only reads looks at it, and the chat goes on where it was.
async function switchTo(session: string, { parentId = "root" }: Turn, index: number, wanted: string, mayWrite: boolean): Promise<void> {
  if (mayWrite) await activate(session, parentId, index);
  app.set({ conversation: show(app.get().conversation, wanted) });
}

// The first version is in the branch that the others left, each of those in one of its own.
async function activate(session: string, parentId: string, index: number): Promise<void> {
  const { branches } = await client.branches(session);
  const forks = branches.filter(({ branch, fork_turn_id: fork }) => branch > 0 && (fork ?? "root") === parentId);
  const branch = index === 0 ? forks[0]?.parent ?? 0 : forks[index - 1]?.branch;
  if (branch !== undefined) await client.activateBranch(session, branch);
}
