/** The switch of whether a person takes tickets that teams give, in the organization of the page. */
import { UserCheck, UserMinus } from 'lucide'
import { useEffect, useState } from 'preact/hooks'
import type { Me } from '../../people/auth/model'
import type { MenuItem } from './ui/menus'
import { attempt, tell } from './ui/toasts'
import type { View } from './view-types'
import { t } from './words/catalogue'

/** The item of the menu; none until it is known. That of the first organization comes with the sign-in. */
export function useAvailable({ api, me }: Pick<View, 'api' | 'me'>): MenuItem[] {
  const is_first = me.organizations[0]?.id === api.organization_id
  const [available, setAvailable] = useState(is_first ? me.available : undefined)
  useEffect(() => {
    if (is_first) setAvailable(me.available)
    else void attempt(async () => setAvailable((await api.own<Me>('GET', '/auth/me')).available))
  }, [api, is_first, me.available])
  if (available === undefined) return []
  const change = async () => {
    const now = await api.own<Me>('PATCH', '/auth/me', { available: !available })
    setAvailable(now.available)
    tell(t(now.available ? 'available.is_on' : 'available.is_off'))
  }
  return [
    {
      text: t(available ? 'available.off' : 'available.on'),
      icon: available ? UserMinus : UserCheck,
      run: () => void attempt(change),
    },
  ]
}
