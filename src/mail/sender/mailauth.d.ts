/** mailauth ships its other parts with types; these two are the parts without, as far as they are used here. */
declare module 'mailauth/lib/parse-received' {
  type Received = { from?: { value: string; comment?: string } }
  const received: {
    parseReceived(line: string): Received | false
    getClientAddress(from: Received['from']): string | false
  }
  export default received
}

declare module 'mailauth/lib/parse-dkim-headers' {
  type Result = {
    value: string
    comment?: string
    header?: { from?: string }
    policy?: { dmarc?: string }
  }
  type Results = { value?: string; spf?: Result; dkim?: Result[]; dmarc?: Result; arc?: Result }
  export default function parse(line: string): { parsed: Results }
}
