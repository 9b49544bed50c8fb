/** The work of each kind of deed, for the job that goes on with those whose process has died. */
import type { Connection } from '../../base/db/transact'
import { deleteSome as deleteSomeOfCompany } from '../../desk/companies/commands'
import { deleteSome as deleteSomeOfContact } from '../../desk/contacts/commands'
import { mergeSome } from '../../desk/contacts/merge-contacts'
import { giveCompany } from '../../desk/contacts/tickets'
import { goOnWithDeeds, inSteps } from '../../desk/deeds/deeds'
import { deleteSome as deleteSomeOfLabel } from '../../desk/labels/commands'
import { eraseAll } from '../../desk/privacy/erase-person'
import { reviewAll } from '../../desk/promises/review'
import { deleteSome as deleteSomeOfTeam } from '../../desk/teams/commands'
import { deleteSome as deleteSomeOfMailbox } from '../../mail/mailboxes/commands'

/** Ends the deeds that nobody works on. */
export function finishDeeds(connection: Connection): Promise<void> {
  return goOnWithDeeds(connection, {
    'merge contacts': inSteps(mergeSome),
    'erase contact': eraseAll,
    'delete contact': inSteps(deleteSomeOfContact),
    'delete company': inSteps(deleteSomeOfCompany),
    'delete team': inSteps(deleteSomeOfTeam),
    'delete mailbox': inSteps(deleteSomeOfMailbox),
    'delete label': inSteps(deleteSomeOfLabel),
    'give company': inSteps(giveCompany),
    'review promises': reviewAll,
  })
}
