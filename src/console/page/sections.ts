/**
 * The sections of the rail, in their order. A new one is an entry here, with its text in `words/`: the first part of
 * its address, its icon, and its view, which is loaded when it is first opened.
 */
import { type IconNode, Inbox as InboxIcon, Settings } from 'lucide'
import type { ComponentType } from 'preact'
import { Inbox } from './inbox/inbox'
import { lazy } from './lazy'
import type { View } from './view-types'
import type { PlainKey } from './words/catalogue'

export type Section = {
  /** The first part of the address of its views. */
  path: string
  text: PlainKey
  /** The key that opens it, after `g`. */
  key: string
  icon: IconNode
  View: ComponentType<View>
  is_for_admins?: boolean
  /** What a link to it adds to the address. */
  query?: Record<string, string>
}

export const SECTIONS: Section[] = [
  { path: 'tickets', text: 'frame.inbox', key: 'i', icon: InboxIcon, View: Inbox, query: { status: 'open' } },
  {
    path: 'operate',
    text: 'frame.settings',
    key: 's',
    icon: Settings,
    View: lazy(async () => (await import('./operate/admin-parts')).Operate),
    is_for_admins: true,
  },
]
