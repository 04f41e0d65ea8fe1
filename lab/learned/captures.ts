/**
 * One head in training: query and key of layer 1, head 0 (counted from 0) of a GPT-2 of two layers, four heads and width 64, at
 * moments of a run; [words, 16] each, float16 in base64. Weights are not stored: heed computes them in the page. Written by
 * `node tools/captures/learned.ts` (seed 1), which says what the text and the runs are.
 */

/** Words that the model chooses from after "was". */
export const REASONS = ["tired", "hungry", "cold", "thirsty", "curious", "sleepy", "wet", "afraid"] as const;

/** Sentences by name. */
export const SENTENCES = {
  cat: ["start", "the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired"],
  dog: ["start", "the", "dog", "slept", "near", "the", "old", "cat", "because", "it", "was", "hungry"],
} as const;

/** A sentence at a moment of a run. */
export interface Moment {
  readonly step: number;
  /** Mean surprise at the last word of 128 sentences that were not trained on, in nats. */
  readonly surprise: number;
  readonly query: string;
  readonly key: string;
  /** How probable each of the eight words is after "was". */
  readonly says: readonly number[];
}

/** The first run on the first sentence. */
export const LEARNED: readonly Moment[] = [
  {
    step: 0,
    surprise: 4.0656,
    query:
      "SDO8u3g6w7mQOGe3jTHXN1UzpLEoLTGgR7HEKtG6+rhtOQuytThsut23grnFt8oxIjWaL2c0XzkGNa41YbuOuAQ69R85LXG9Y6nqqba6HDGXM2K12iy5OU2rVapQHwmtcjf/tmS5/7y1KzI4zLHltO8xfbhFtF40AbW+L0u3E63rNZ+127qPuFsv9jjutZo107VSvIW8sjkRuEo6oTXcs/E7gB+jucEegrWzNne4NzR/tb66zbp5Pc64bzkxN6W50Dsesw+7x7NfNKI3NTZ9MLelN7h1uZkdnLn8Nww2BLrkOsIp27iXtYk6FjkyMgo4DLqutN63lTJEu4A2iT6Dunk6mDTJuVu5+jY/NjY55rPssRg0r7hANVW8qCx0PKK6WC2pMoe4Xry4N3Yv7CXwqK+4aDTcKIk43LeDN509k7q5Mbq7mi+fuNY5zLcAOQOqBbqKM7E5uTHatRox+jlqMA==",
    key: "GDCPuX6xva24Mxw8QbcYPXexiDyAtRW1OTKcuI8iuTzEtsqwJLVRr5I0jysIMQo69rgpOS0pIq70Maq2AbMJOdq4frY9the3yjhdsKw3ODoTL0g6VbhsNcG5jrKatOg5mrOwtjO6lDXeODg5gjlGPDUzO5TUvNQ23bcmp2M5tzkEKlK45rkpOKo4MC93tEY4YiqMOJW/UTfUscK0/jORORSyebgGtaA3rDnMtBAtmTo/sbM7GbhXOZ2oJLquNO01CTsFuUy4wi74OZesJberPAK68DcLue60Hba/uUg6ZDelOUC4vThLoGU5z7ZdtVA6JLt4Gla0fLPItO62YzgPqfw0w7D4NAA1FDPcsHusdzygt9i2zrUduXq1arL4MF0yNTJUuR88Ci5kJN+1xjpCNcS5JbjOtDwxP7yqtnkkRLPHNJ+5yDpCt3K2q7xnNu07zLgduCUt3LEfr++5XrRGLA==",
    says: [0.0109, 0.0353, 0.0236, 0.021, 0.0178, 0.0143, 0.0128, 0.0213],
  },
  {
    step: 50,
    surprise: 3.5852,
    query:
      "ODZquW45yLDlOJCllbgCOmiuFLg6LrmwC7RTtVC6y7isOf2vfphjufq3SbamuAsxeDhPpiiqYzoescg17bHFLS86pbDJs2a9e7HJMiu8JDQGN4e2A7QwOzuyB6ylM7w2gzXOuam5/7wbJOM697Y5LjM0X7lEtmA1nbTAKlO2FDPXMiO4Z7n2tucwKzrMuEE6Wbe0vLK7BznEtJ04ETbrK3c7LK/8t38vFLTOOG66VDpGtwq7krpiPWa1VTXrOAK2yzxBs9C3x7EOOHs4sDMGN9Wt7Le1uPGsT7VWMKs02bhGPHQ2ziOWtDY8LzhHLUs3Trm/qXCx9jStue8wqD1quT85HzhMtta6wTdqNI43HrYkMB46qbZMNo27OrUXNZC7LbSWN1Au/byQNwSxrahPtCmwDzosNec1I7aWMt03lLcxrsy6CzgSuYk5cbpGOA+0ILjQOHs80CvNspiw8qdiNg==",
    key: "i7Q6vDU0JidWNJMyNrXUOxY1/zjttPw1aDcTtLS8LDkBt4G4PzkmoBY5Or3uMkAxGLOQtp61FSo9qxWw+bwMMI26RbnwKni3Fjnhurw46jbbNREzi7q2NqC6D67juxE517iSuC64qS2ROAA0oDuWOGc3NLeyvfE5mboNMGC2hjihtXq5K7gMMkw3S7TgLj8yUDVbMp6/JjtTtRKv9rrxNb65n7nPsx8xzzkJuTE2UTguNNQ4dbnNPNaiIbc6umyrHjXWuBO7wbWPO76vobSIPIy4qjixuYM17bLMtCcuKiv3NvOz8DMIuSk5tq8jqTY8wbjdNawvwJ/hK/4s2DDSt+ix1B5it8+wHjDYNXowPTytrkeunbIvKOoq8TRKuTGxM6ZIuME29bbJtNA02DuYNlmtkrTQq182C7lSqty0Pbm6Mbi5ozXCuma6jbmtN5E8XLEEtLg2CSu1NBK5/bg6sw==",
    says: [0.0155, 0.0445, 0.0355, 0.0255, 0.0521, 0.0223, 0.0228, 0.0212],
  },
  {
    step: 100,
    surprise: 2.7726,
    query:
      "/TgYuaM6XyinOTMyn7l7OWSlS7OlMD61UK79t1G7+LnQOTUwRS0Dtwu4z7gYtKG0fjoLMQawOTmPs340QjRzMBQ61LIdtBS9aLX4Lta6T7KGOs6057UmOlewm6wBM9g5IjJuugK6Fb0Wsio79rUFshE5rbhgt5olrK2jLEC4NTgNKRO5nrh8taIqEToquWY6C7ijvNq6djaFIXQ50jRPMgw80q4Wt5g0l7igNj65rTkgt2C5SbqUPWiwfzggOjuwoj2nt7O3HbIWNhk3ODeNNfwbU7Q9uTm1XqyPMn4wvrXVPfM1ciVdtJg7WzdkM7gthbkpLGuqdTckuYs23zy1s9g4lzXxt0i75jAAM204y7eZNWY62rRpNea62LfwsVm7IbfFNoM0n7xgMhGzriBItxseITjcNe0udrRXqCAuRjX+sMa6PThjuNk3SLoXOFy0/bZpNsE8E6MNtAW1E7TGOg==",
    key: "CLRtu2Q2kC9QNRw2lLJZOTk1XTYcr7o2jTgBJxa9NDfGGKy1IzpYrm46cr7tpBStkbR1tLuxprJHrEOw0buXqiq5ubiHLIy4Wzjeu7s1NDReNPUzbrlWJBa7va69ucE5araSuB+45K30NCk2mTrQNBA25bTdvKA3D7y3Ll+3kTljr7G5yrS2Lp8w8KrtKRynoTccNkO+JzzEttuwSL2ANXyzHbquLmg0LToguYUrJTTROEA6dLSWPR+tKrmNvEG1TDaMuH+6fbGXPDWxBLlVO0C4AzhsuT85c7Rdseuw4KrtOYmwmTZ2t7o5i7QNtPM8y7PFNl04Ma9EKP01+R63uda1FKyfuqEsAzIbNn+rfDsFLEawa7RwM9QuozQMu+OdC7QiuuEuSLY4uO0enzpeNJc0srfQtVE2z7iYrskxBbrCLYa64Cr5uhy7Wbt5NGY8uTCzsyY1oCpcNvG5KbhMsw==",
    says: [0.0533, 0.0578, 0.0832, 0.0346, 0.0506, 0.043, 0.0622, 0.0581],
  },
  {
    step: 200,
    surprise: 2.2181,
    query:
      "NDk0uW47CzJxOjw1ZboWO/KvuLLxNCq2aS0/uGy7srrjOdg0wTIfrxiyvLqEqsG0KDcnNEGsrDqDtcUrmjlptBM6TLIetDO837PprRy5xLeXORy0hbehOrWs5bB+NcQ5PrShuYq5T71mrSE7LraEt785g7jWtkC20C5lLae55TnHsk24QLR0ruUyfDieuTg7qru1vNa2czJiMcQ5jzKTJwc8tzGPtgQ45Llmpi+3wTOuuYi0WLYrPpO0lzhuO2IqrD09ucu2kbCHNng11jcQNPkp2q5Yt1i4GSuwMzKn4bLHPUY0xi+Asrc79DS/MJuvn7lEMCk1uDgouE07kDv2HDc4kDWRtfO5CS5IMI82+re0NF06Ti9lNBm5jLSStd27+LkjNN40XbvIJSQaei3ruG6phDUdNGm0bLXCLlOqgTdKsAa7ODhvtx84ibgvOdWyO7ZINK08Oq3rtt2yirDMOQ==",
    key: "8bTJuk84eZ1eNRI79LRaOAg0gjQrJbA0mTi7pvi8+DT9LZ2y6joepaE7Lr8srGugSbR2tRElMrG3sAItYrxLsda5uLmNpyO4JzZhvFygtzTrMaU0CrkdtC67VawvtDI6tLYxuEC637fSslw4rDgDKwcwarHXvP4wPbxWL96rwjq7J5S5YyYUMG63xzHArE2wRTnsNMG8jzxVtTOz9b2sLUw19LjgOVg5+zoBu9uwWDCtO0k2+TYaPYamoLn7uou6CzYOuIG6TqqbPKuvH7omO9K3jzRjuYc507Nysb2zgrIhO2KgUzijtnc2TLEMrmM9XCDNNuI7SLfVpGo3Y7MZu9O1ji70uf4wS6k+OAOorDsArCyuHivBknsy6DGEuwwr1rTluUKrJLYYvHGwiTsNKA0yrrdRuAY4krfGs3kxVbrUKw+64aQHu6u6KrzUMUU8bjJcs5sz1DIoOEe6N7oztA==",
    says: [0.1802, 0.0601, 0.0608, 0.0245, 0.0716, 0.084, 0.0443, 0.0336],
  },
  {
    step: 300,
    surprise: 1.2374,
    query:
      "yziPuPI7yzEIOx03err6OyW1la9+NPe2KzNxuD67cLotOdE09DDWpvSyN7uyq5WtATEJM0uvBjw9tpQxXztCtYI5N7UttoS7vbFbsbG4V7WdOLO0YrgGO+cnA62RNfQ4WrnEuXe5/bwkMJk6pbX5tEA4t7jNtfa4FjHVMsu6RjnFsRy4W7CApVQ3MjdJudE7s7xEvO2zjy56LoE5cjN+rGo8ZDLKtvA2mrl6re+0bjCIuyGsh7XrPX22ZTg/PCgtpT2BuCO3FK7aNh01xDcTMHmo1iOVtnG4WyltMx2wu7CvPY41HDN/rbU7gjRoMZ61U7rrMhw2CzhUtho8YjpwMis4izZHsoS47C1dLMg2TblUNKs6VzQGMES4jLTetyG7h7pEKaY25bhuqBcu/i28vHwxkTDwNoi5Qbm2NDKpDTlMr2m7wDidtNI4Arf1OX+1O7XuMMY8p7JGuFexVqR4OQ==",
    key: "Z7M/u8Q4TbB5M7A8d7bvOFMwhjXXowI0qjkKsre8qDJ7MZYkhztGrAw8Jb9XsHqxK7QTtU4wA7FvtRMz/bzfsla7I7karYe1mzH/utmveSreM2E3WLlCtQG8f6lBqLo76bZCtZK7irhKuRc71De0sRclHbEovd4wzLukMPApBjt7MRW5IzGFNDC4hDT7sm0dqDnzMRa81Tx3sZuzML71r7I4KbfMO1w7cTyRu721AzLnO+IzUjkRPXinCLl1uay7NDj6t4S6JixYPEmwSrvDO1S46jOsuLk5/azCsvOw9LRwPGipXDhltJkzBbGMs6E9w7BkN2w8OLcfMc03uq4IvKOymjKkucY0IrLZNwqw3DtzsqGqZzLCq9o2qTDxueMmMy4/ufwz67VgvDm5MTpzGdwoSbdTtLo4KLXmtLIdSrnlMyu5uizeupa57bxZMFA8dDMhtOw0ZzX6OKq5a7v6tA==",
    says: [0.374, 0.0228, 0.0402, 0.0055, 0.0434, 0.1028, 0.0092, 0.0086],
  },
  {
    step: 450,
    surprise: 0.4728,
    query:
      "sTgDuC48VDIBPF42urqxPOy3+KmQNGW2wDXyuA27lbo4OfoyYTL7qOak2LuwrpMuDRxwMVeorTxFtjkvOTxjtY84cbhgtoS6zK4NsZu3DiRCOT602rguPFYwLbBONBU5XLyYubC4ILyrNMM6XrY2sg02qLggtH25JTRKNlK7CDnPsD24CC8tLQM5zTbguAg8sbwAvG2ui6k2LsA4szBBsRI9ojQwtak3y7gcryS1OytavNKsbbKAPeW2lTZHPFmsgz0lt/S2zKieNTM2szYvK9Wy0TDJt663uC+2MYCsT7JkPcE2kTX1KDY7zjSvMEa357rrM5Y1ITe6syg8SzkNMn84kTbenoC27C6BK8s1MbkNNJw7ojU2LOa1frR4uCK7T72osaQ5W7bLqQ40SzOTvuY4TzByN7a9SrkSNpqiDjvesnu7Nzr1sX050bTZOg24V7JSMLo8WLifuBCvlyyKOQ==",
    key: "I7MbvDY5s7RpLKQ9Drf1OUExYTamsXs06jq4tL28iDDfJW00vTplrWE8Ob9ArRa0zLQmtWMtKLLVt0g2c736sgy9x7j/r76zRCoyuSMvLrRUN4c4RbqpuXm8YKiZKEo9s7dJsje8prn3uzY8OjfGtGui67F7vd4lwLrGMgCsvjphNMK4FC+iMv+2tTYGtmIy/DhGLwm86jxQLHCyg74wtC06HbAWPEc8lz0VvHm4EDS0OhQrdTpGPZeks7fbuIq8TDkpt+K5ATF7PBGnRrwpPFy5QzB5uJo6bC42tCguI7ZJPfisPDjzsbwxZCngtfI9ULavNnM8JrW4NH02ljIyvIKr2DRbuTM1Y7TGODGuGDwptvqogDHvrbE4aymxtpQqmDYquqs1j7iTvN+5KjmMrAK0yrRJs2A2+qzVtcw087fjN7+4yy2/u5+437z5KD48HS+RtCU0RTi4OZO5Ibr8tg==",
    says: [0.6404, 0.0132, 0.0253, 0.0028, 0.0269, 0.0536, 0.0095, 0.0119],
  },
  {
    step: 600,
    surprise: 0.2879,
    query:
      "iTdKuA48gynjOw42/LouPXW4JCC/M5O2LDXcuAq6WLosOYUv+DOlsqsoarscs1U0MbFEMlGojTwnt3EyKT3Ks3E4YblwtSu7h6uNpke3DjIGOUKyqLg+PIUzTa4AMgM5tLw2uQe4qrsqNS878rUFsCc0V7gSsYS56jUCOAW71zgYsXK4DjJsLAQ5eTZxuDA8wLzGu42s3aDRKsY4bzDmseE8KjS7tT427rhmsPu0LSjcvAuwjbNTPY64ojeOPPytlD3qtV64EKd/MgU3tDZ7I7y0/jH8uOS2Sy27MI8kXrCIPVw37zQmLcc6ujRjL923x7rGM0M06zYrsw086zgyNC45zjYEI7+1mS/GKYI0mbiUM947xzVYLwq1krXzuBK7CL74s+c5ubQ9qa4zpTMkv6g6njF4Nmu+4bi/NZyvrzvPskW7fjpDsJ85UbQgO264hLHMMIo8wLi3uAKwRSiWOQ==",
    key: "7LBFvFg64bdVLew927buOboyCzZqs6Y26jvhtQW93S8dMuk21ztbsP08Kr/Kr7GyBrb3tXUujKnztuI2e70gtTu9abh+o2KyLSELtlgy6rVrOPI4DbrZuoq8rancLr89GLYUsTi8uLqCvAE9LjeSteOvuLF+vb8rCbqSM1etWjr9NAG5UjKzLqC1QTj+tuczlji/L8m75zyxMQaxmL6PtL87aR6IPI88cz42vO65RTRmOWek6jp8PX2p9LVQuOO8zjkVt0G5TjT7PLqcjbziO+a4DzAduKg6wTAxtFE0n7ZzPTSvFDgjr1ozkS02ttw9irZSNn487LQ0NR03jzVIvFWrtzUxuRg2CrQcOS2s0ztbtmylezBhrgY5+Ci2tBEsAjdUupU1ZLjuvKe5sTiXs1S0DbOxsow1BBostQw2JLe9OHS42SzAuzu4xLwTHBg8iDCCtCw1NzkeOmC5ibkauA==",
    says: [0.7616, 0.0094, 0.0149, 0.0013, 0.0199, 0.0286, 0.0061, 0.0072],
  },
  {
    step: 900,
    surprise: 0.1517,
    query:
      "LTVfuPM7oSsDPN41NLtTPXi4LQw2M+C3wzaXufG68bmIOBAyOjMTsQssSrt+sAE0AaxzLXEpUTzSuMwwST0Fsj04RbmWtfK6FK3qLJq2DTYOOb6wULmoPLg0ZLCAL2w4v7zftxe4srpSNvs6QLcgJAsxZrjjrOS4cjduOBS7FjiosPm3AzSVJo059zVDuKA83bxNu9OtoyhBqII3NzAYtJo8jDdYt1c2D7lJr+iwCp7SvLSwKbOfPKq6hzUZPa6wgz2EtHy42awfMZg3MjexI5q2EDLfuIi2Uyo4L4Ql3rJGPU43zjVqKZY6YDRNLmO38bp0Mv00hzb8sQ88aDgiM2M5JjcnLJS1xDAJJMgxn7cpM+I7aDdFMTizK7bouWe7777NtKQ6i7MWpaU0WjODv/I7+zKkNSy/RLddNlOyrDu9sfC6kzptsKM5BLP3Oqu4C7NRMYA8vLiJuMCvMiR+OQ==",
    key: "wbPLvAM6pLhPsHU+p7YvOmsyazaitU43Pzz7tem8QjPDMXc3WTu0rxI9dL8Fqgiyg7UJtjYwlq0BuA83Z70ztqO9B7h9IYGpR669s1Y0C7hsOcE5HLprvKu8cq8dMEE+nbWrrbW81bpzvYM9EDaPtvaz37Ckvcgf0rkgNOqtYDqXNBu51DLyKdO1QjlKt7o2eTizMZ27ZDx3NRStir4Bs0w80C6ZPNM8AD+yvN659zX0OJ+rNDsIPZIrmLWxtie9MDkkt6q4KjXUPM8to7xIPMe4tDCBtoA6VzQptdc1jbYSPeywOziLsdExwTLEtSA+xreUNZA8orTiNdU2RjYTvIuxCzbduNo1nLW1OSCf3TtAt0OpMTB4sWA5HaHashEwCDbLujg1yLh7vdy4Yzh7tbC1xq12tLE0DC3FtVM23LXuOF+4Bi3Iu/23mLwOqTA8pi4HtS029TlTOo65w7gsuA==",
    says: [0.8691, 0.0056, 0.0089, 0.0009, 0.0111, 0.0136, 0.004, 0.0053],
  },
  {
    step: 1300,
    surprise: 0.0824,
    query:
      "LzWfuBQ8/SeFO7A1wbqSPbm4BJ4jMba3wDUPuSa6H7lcONMyFzTZqggvSbtnsl80ybC/pSEpdTzjuGUudT3HtGQ4BbrvtFe7FK8KNH226DQXOTSqj7l2PFI2y7Ffq/Q3t7yytta2DboSNik7XbYTIYoxf7gqp5m40je9OBy76zazsHC3gDTrLI45EjYiuNE85Lz7uo2v0yvCo5g2di9TtU08Izl9tmg4v7gUr8exUyX8vOqw67JuPFy6izNjPZa1aD2Jse64+6ixKs84EThlJCa3aDPQuaK23C9SL4cugLFVPUY4LTUTKm46wjSCLn+27roFMy80Wza2sC08rjitNKM5hzfuLVK1Ni/6KKExhrZtMhs8fjayMKuxkrb/ufW6Lr/AtOM6xrRKpxY1/zSlv4888jSdNKi/lrZFNjy0lDtHsVu6iDrRsJA5QbFhO424arMdM0M8BbmUuAax65+mOQ==",
    key: "SbP3vMY6vLixrU8+nbchOhw02TYqt/w4eDzLth+9xjJNMUI4ITuSrBk9F7/ysC6zrrR3tRUyrqRCuBU4XL3Xt329KbgtL58lOa5dsIM1ibgKOtE5XrmVvNu8JLAhLjM+E7VQqBu9ibuHvc09BDi1t4K0FrLavTAv4LlANP2xojnIM1K5QzMTKcu0kzkXtg83hDhjL+q7gjyWNsyuY75FtHQ8mTSHPBc9Hj+lvKi50DQ/N+Sz3ztBPTgwGrXyspG9yjihtrm48zbRPHwuZLyqO524iiyutrY6bzTetQ0407bbPKexoDcssGwxeDMitQc+BLhPNFM8bbQSNqw2jjcRvIGyWjb9uHQ2mLXVOSgnqzvZtsSpMi2qsbA5SalYsSswyjT4uho157jEvSm4lDgXt0e24agJtRI0jS0utU83oLQkOV64gih9uxa4dLyDHhE84i+7tYk2NTooOpi5frdtuA==",
    says: [0.9282, 0.0032, 0.0047, 0.0006, 0.0063, 0.0082, 0.0022, 0.003],
  },
  {
    step: 2000,
    surprise: 0.0368,
    query:
      "DjW4uFo8na4zPAQ1PbqcPca4aCnzM0e4HTZRuaK6A7lUOPQxAjQtrr0wnbscroQzxLDWqR4qAzy2uUMjyD2Isyo4B7oqtra7Da5uNeC0xDWjOD6wD7qRPPc1Kq8PpQU3kbz+tNC3wLmDNuI68rWXoREu9bjjo0e4mzh/OY66azWvscW3QzX2pUo53zX/t648tLxAujmwZZ10o4o1mirmtYc7VDmrtkk4S7nXqGCyxayXvCirQ7QZO8C5xy9BPQ+1Rj11sYm5K64qIhU5TTiuGju3oDN1uoW2LjDeMQ8vtrJfPdg38DSdqLM6YjRPLbq1qLrcM6Mz5jUusCc8BDiUNO05rDd8LrS16i4DI54w+rViMhg8YDb8L/2wl7a2utK6S79QtJs69rRBqzw1SDbHv/s8sTWZMSDAmLbfNfO0MTttryy6XTr9sro5GrBZO1O45LJjNAA8FLm4uPuxHq1POQ==",
    key: "OrPSvKo6rbkisic+OrW2OgU0BThLt5o4cjwutk29XjNUNFA4IjtrsEY9875etKuyM7WltnYusC2IuMU4qr3AuEi9P7iNMsgkfbJ1q5A1+rj+Oac5FLqxvPi8QLLqMFw+HLRDJmi9KrzxvRM+AjgTuJe1DbLFvfswJrnHNFm0NTkINaq4CDR1ou2ztTpxtgc4ezg9Md66cTxnOFysGL49syI9nDWBPB49cD8GvEu6xTRFNTK1gjzIPToyb7ReqaC9QDlOtsC4EDgAPQ4xgrzyO3y4KC1iteU6tjTltT85N7bRPHiySTYnsN0zmjSUtC4+nreANGs8fbQTNrk3YTjmu9ixzzYzuYE2MrU0Ovsn7ju5tkWo8ixestI59qjDrKMwODUYu20z9rjkvQu2aDhJuEK2XSS4tSc0uzCvtN43d7RHOSi4TKc5u6m3K7wkJy08nzC7tcI3eTomOm+5tbVFuA==",
    says: [0.9676, 0.0017, 0.002, 0.0003, 0.0029, 0.0038, 0.001, 0.0013],
  },
  {
    step: 3000,
    surprise: 0.0157,
    query:
      "kDTquHE8F6zAO6A0ablzPY+4CSaPMg+5GDY2uS+637eNOAI0xjRUJP4whbuUsO8x6rC1sVUtCDx6ubYtqj0dtTs4lLrptKm7hbBjNQO0HTWMOXGq9rmWPB82Sa/Bqn03ebwBtPW3vrhJNrs6t7SjsFkySLhhpOu4XziIOcW5tTZusbK3KjYULHY5AzZpto48k7z5udWxV64GrCEzEyL5tW47ZjmFtQM5b7jEq5uwf6xnvMKuBLS3Ovu5cSroPJW3Fz2Ur0y5L600J7Y5wzjDJmW3mzSEuja3+C5TMF0xNLUxPQg4KDVeqiI7QDUZLT60NruSMyw0yDVDrsg7qjc1Mfo5STcHMCS2YjDrJM0wNbXEMSA8qTZRLrmwlLaout66ob9btGI7jrRcFQI1gDbMv049izWxNCDAu7boNeS0lzqosN25ejontMQ5d63+Oqa3dbNjNAI83LjHuMux1a/ROA==",
    key: "WrMIvSk7p7nNsRc+kbWYOhI0sTc4uKs5szyDtlu91S6CM6446jo/rWk9/76VtsOyN7QUt0YzDjHBuA05ML3LuaK9dbj+NMUZjLCyrII2ibnFOto46rluvTa937LiMVo+2bHOMJ29LrwSvgA+UzhHuSW1ErMQvt4mRLkbNYK0Njh0Nti4tTRgJoOyeTrutT04oTgxMou6LTzNOOaq6L0mtT09ZzYtPEw95j9FvAa6TDT7NFy2pjzTPWgw2LABpN69PDlbtom4XDgpPc8xV7yAO4G4ZC+Etfc6STXLtvk50LaYPD+0xDX0rxU0TDVotDg+Wri5NU88lrHKNuo2ljjiu0CybDb3uA02uLQxOl8m7DtVt66iqyd/sRw61Kz2qAkwfjQHu3Q00rkbvnu2fzi3uFC32yqktYIzXDA9tfk3BLNKOXu40xsuu823GrzZKFA8LCuttXI4xzokOpy58bNAuA==",
    says: [0.9862, 0.0009, 0.0009, 0.0001, 0.0009, 0.0017, 0.0004, 0.0006],
  },
];
