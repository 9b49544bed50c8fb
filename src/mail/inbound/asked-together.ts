/** Asks about messages of the same time together: those of an organization share the statements. */
import { gathered } from '../../flow/gather'
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
  const askAll = gathered(async (asked: Asked[]) => {
    const answers = new Map<Asked, Answer>()
    for (const group of Map.groupBy(asked, ({ scope }) => scope.organization_id).values()) {
      const mails = group.map(({ mail }) => mail)
      const answered = await ask(group[0]!.scope, mails)
      group.forEach((one, index) => {
        answers.set(one, answered[index]!)
      })
    }
    return asked.map((one) => answers.get(one)!)
  })
  return (scope, mail) => askAll({ scope, mail })
}
