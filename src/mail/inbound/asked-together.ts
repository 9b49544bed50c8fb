/** Asks about messages of the same time together: those of an organization share the statements. */
import { gatheredBy } from '../../flow/gather'
import type { Scope } from '../../scope'
import type { InboundMail } from './message'

type Asked = { scope: Scope; mail: InboundMail }

/**
 * Makes a function of one message out of a function of several messages of an organization.
 * @param ask returns an answer for each, in their order
 */
export function askedTogether<Answer>(
  ask: (scope: Scope, mails: InboundMail[]) => Promise<Answer[]>,
): (scope: Scope, mail: InboundMail) => Promise<Answer> {
  const askAll = gatheredBy(
    ({ scope }) => scope.organization_id,
    (asked: Asked[]) =>
      ask(
        asked[0]!.scope,
        asked.map(({ mail }) => mail),
      ),
  )
  return (scope, mail) => askAll({ scope, mail })
}
