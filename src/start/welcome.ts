/** Greets the person who starts the service: where everything is, the generated password, and three first requests. */
import { config } from '../config'

/**
 * Prints to standard error, because standard output has the log only.
 * @param smtp_port where the SMTP listener is; undefined when it is off
 * @param admin the first admin, when this start made one; `password` is null unless it was generated
 */
export function welcome(
  smtp_port: number | undefined,
  admin: { email: string; password: string | null } | undefined,
): void {
  const { BASE_URL } = config
  const lines = [
    '',
    'Deskwire is ready.',
    `  API            ${BASE_URL}/api/v1`,
    ...(config.SWAGGER === 'on' ? [`  Documentation  ${BASE_URL}/swagger`] : []),
    `  Inbound mail   ${smtp_port === undefined ? 'off (SMTP_PORT=0)' : `smtp://${config.SMTP_HOSTNAME}:${smtp_port}`}`,
  ]
  if (admin) lines.push(`  Admin          ${admin.email}`)
  // On a line of its own, and on no other: whoever copies the first steps must not copy the password into a shell's history.
  if (admin?.password) lines.push(`  Password       ${admin.password}   (shown only now: change it at PATCH /auth/me)`)
  lines.push('', ...firstSteps(admin?.email ?? config.ADMIN_EMAIL), '')
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** The shell reads the password, so that it stands in no history and in no list of processes. */
function firstSteps(email: string): string[] {
  const api = `${config.BASE_URL}/api/v1`
  return [
    'First steps (the first line waits for the password, and does not show it):',
    '  read -rs PASSWORD',
    `  TOKEN=$(printf '{"email":"${email}","password":"%s"}' "$PASSWORD" | curl -s ${api}/auth/login \\`,
    `    -H 'content-type: application/json' -d @- | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`,
    `  curl -s ${api}/mailboxes -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\`,
    `    -d '{"address":"support@example.com"}'`,
    `  curl -s ${api}/tickets -H "authorization: Bearer $TOKEN"`,
  ]
}
