/** Holds the splitter of mailparser. It takes 15 MB and 0.2 s to load: `parts.ts` does so for the first multipart. */
import { MailParser } from 'mailparser'

/** A node of its tree. */
export type SplitNode = {
  parentNode: SplitNode | false
  _boundary: Buffer | false
  headers: unknown
  parseHeaders(): void
}

/** The splitter, as far as it is used. The types of mailparser leave it out. */
export type Splitter = {
  /** The node of the tree in which the next line is. */
  node: SplitNode
  /** The multipart of the node has ended: what follows until the next delimiter belongs to nobody. */
  inEpilogue: boolean
  processLine(line: Buffer, is_last: boolean, next: (error: Error | null) => void): void
  newNode(): void
  nodeCounter: number
}

/** One for all messages: a parser with its streams takes as long to make as a small message to split. */
const { splitter } = new MailParser() as unknown as { splitter: Splitter }

/** Makes the splitter begin a message. It ends the one of before. */
export function startSplitter(): Splitter {
  splitter.nodeCounter = 0
  splitter.newNode()
  return splitter
}
