// How full the model's window is.

import { useWords } from "../state";
import { count, extent, share } from "./numbers";
import { words as table } from "./inspector-words";

export interface GaugeProps {
  readonly used: number;
  /** What the model can read at once; absent: not known. */
  readonly window?: number | undefined;
  /** From how many tokens on the history is compressed. */
  readonly compressAt?: number | undefined;
}

export function Gauge({ used, window, compressAt }: GaugeProps) {
  const words = useWords(table);
  const label = window === undefined ? words.used(count(used)) : words.ofWindow(count(used), count(window));
  return (
    <div className="gauge">
      <h3>{words.context}</h3>
      <p>{label}{window !== undefined && ` · ${share(used, window)}`}</p>
      {window !== undefined && (
        <div className="gauge-track" role="meter" aria-label={words.context} aria-valuemin={0} aria-valuemax={window} aria-valuenow={Math.min(used, window)} aria-valuetext={label}>
          <span className="gauge-used" style={{ width: extent(used, window) }} />
          {compressAt !== undefined && <span className="gauge-mark" style={{ insetInlineStart: extent(compressAt, window) }} />}
        </div>
      )}
      <p className="quiet legend">
        <span>{window !== undefined && <i className="used" aria-hidden="true" />}{words.contextHint}</span>
        {compressAt !== undefined && <span>{window !== undefined && <i className="mark" aria-hidden="true" />}{words.compressAt(count(compressAt))}</span>}
      </p>
    </div>
  );
}
