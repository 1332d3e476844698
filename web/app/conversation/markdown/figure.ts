/** A tree of elements as a worker gives it: the colours of a code, or a formula. */

export interface Figure {
  tag: string;
  className?: string;
  attributes?: Record<string, string>;
  children: FigureChild[];
}

export type FigureChild = Figure | string;
