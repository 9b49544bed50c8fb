/** The console: the sign-in, then the frame around the views. */
import { render } from 'preact'
import { listenForKeys } from './acts'
import { useCell } from './cell'
import { comeFromProvider } from './from-provider'
import { sendWhenLeft } from './inbox/held-back'
import { saveWhenLeft } from './inbox/writings'
import { Shell } from './shell'
import { goOn, signIn, signOut } from './sign-in'
import { Credentials, SignIn } from './sign-in-page'
import { Button } from './ui/buttons'
import { Dialog } from './ui/dialogs'
import { attempt, Notices } from './ui/toasts'
import { chooseLanguage, t } from './words/catalogue'

function Page() {
  const now = useCell(signIn)
  if (now.state === 'asking') return null
  return (
    <>
      {now.state === 'none' ? <SignIn /> : <Shell me={now.me} />}
      {now.state === 'ended' && (
        <Dialog title={t('sign_in.again')}>
          <p>{t('sign_in.ended')}</p>
          <Credentials email={now.me.email} />
          <Button kind="bare" text={t('sign_in.somebody_else')} onClick={() => void signOut()} />
        </Dialog>
      )}
      <Notices />
    </>
  )
}

void attempt(async () => {
  await chooseLanguage()
  const missing = await comeFromProvider()
  if (missing && 'fault' in missing) throw missing.fault
}).finally(() => {
  goOn()
  listenForKeys()
  saveWhenLeft()
  sendWhenLeft()
  render(<Page />, document.getElementById('page')!)
})
