/** Commands about accounts: `user …` of `bun run cli`. */
import type { Connection } from '../../base/db/transact'
import { resetSecondFactor, setPassword } from '../../people/auth/commands'
import { generatedPassword } from '../../people/auth/password'
import { type Command, emailOption, type Options, UsageError } from './command-line'
import { givenPassword } from './password-input'

export const ACCOUNT_COMMANDS: Command[] = [
  {
    name: 'user password',
    options: '--email EMAIL [--password-stdin] [--password PASSWORD]',
    meaning: 'Sets the password of an account and ends its sessions. Prints the password when it was generated.',
    needs: 'database',
    run: changePassword,
  },
  {
    name: 'user second-factor-reset',
    options: '--email EMAIL',
    meaning: 'Takes the second factor of an account away, whose owner has lost it, and ends its sessions.',
    needs: 'database',
    run: resetFactor,
  },
]

async function changePassword(options: Options, connection: Connection): Promise<unknown> {
  const email = emailOption(options, 'email')
  const given = await givenPassword(options, 'password')
  const password = given ?? generatedPassword()
  const id = await setPassword(connection, email, password)
  if (!id) throw new UsageError(`there is no account with the email ${email}`)
  return { id, email, ...(given === undefined && { password }) }
}

async function resetFactor(options: Options, connection: Connection): Promise<unknown> {
  const email = emailOption(options, 'email')
  const id = await resetSecondFactor(connection, email)
  if (!id) throw new UsageError(`there is no account with the email ${email}`)
  return { id, email }
}
