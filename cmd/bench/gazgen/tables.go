package gazgen

import (
	"math"
	"math/rand/v2"
	"strings"
)

// commonCodes is the number of codes of a class that every country has.
const commonCodes = 4

// classTable has the classes with their shares of all places, and their codes,
// the most frequent first.
var classTable = []struct {
	name  string
	share float64
	codes string
}{
	{"P", 0.390, "PPL PPLX PPLL PPLA4 PPLA3 PPLQ PPLA2 PPLF PPLH PPLW PPLA5 PPLA PPLS PPLR PPLCH PPLG PPLC STLMT PPLA1"},
	{"S", 0.195, "SCH CH HTL FRM BLDG CMTY HSP HSE PO MSQE AIRP FRMT TMPL RUIN DAM EST RSTN ANS CSTL MUS UNIV MN LIBR SHRN " +
		"TOWR BDG LTHSE MNMT MSTY GDN CTRF CAVE WLL TMB OBSR PS HUT RECG THTR STDM SCHC VETF AMTH ASTR MNQ OBS ZOO"},
	{"H", 0.180, "STM WLL LK SPNG STMI RSV WAD PND BAY MRSH CNL INLT RVN CHN STMX FLLS GLCR LGN HBR RF DTCH SWMP STRT SPNT CRKT " +
		"OVF PNDS LKS RPDS GULF SEA SHOL BNK ESTY FJD CUTF BGHT WHRL OCN"},
	{"T", 0.130, "HLL MT VAL ISL RDGE PK CAPE MTS PASS SPUR BCH CLF PT HLLS DUNE GRGE SLP PLN ISLS CNYN RK PLAT ISLET BAR DPR VLC " +
		"PEN CRTR SADL RKS ATOL DSRT LEV MESA TRR GAP SINK KRST"},
	{"L", 0.050, "LCTY AREA FLD PRK GRAZ RESF INDS RGN RESV MILB CST BSND OILF NVB MNA SALT RES TRB GASF RESW RGNE CLG CONT AMUS BTL"},
	{"A", 0.042, "ADM4 ADM3 ADM5 ADM2 ADMD ADM1 ADM4H ADM3H ADM2H PRSH ADMF LTER ADM1H PCLI TERR PCLD ZN PCLS PCLH"},
	{"R", 0.006, "RD RR TRL ST TNL TNLRD PRMN CSWY RDJCT TNLRR RJCT RDB CARN OILP RTE"},
	{"V", 0.005, "FRST CULT GRSLD VIN SCRB OCH TREE BUSH GRVC HTH TUND MDW GRVP FRSTF"},
	{"U", 0.002, "SMU RDGU BNKU BSNU CNYU PLTU RFU TRNU SHFU FZU KNLU GAPU VALU HLLU"},
}

func makeClasses() []class {
	list := make([]class, len(classTable))
	for i, t := range classTable {
		c := class{name: t.name, codes: strings.Fields(t.codes)}
		weight := 0.0
		for rank := range c.codes {
			weight += math.Pow(float64(rank+1), -2.2)
			c.sums = append(c.sums, weight)
		}
		list[i] = c
	}
	return list
}

// landTable has the countries with the most places: code, share in thousandths, and roughly the
// rectangle of the country. Fiji's crosses ±180°.
var landTable = []land{
	{"US", 172, -124, 26, -68, 48, "America/Chicago", 0, nil},
	{"CN", 68, 80, 22, 125, 48, "Asia/Shanghai", 0, nil},
	{"NO", 46, 5, 58, 28, 71, "Europe/Oslo", 0, nil},
	{"IN", 44, 70, 9, 90, 33, "Asia/Kolkata", 0, nil},
	{"MX", 30, -115, 15, -89, 32, "America/Mexico_City", 0, nil},
	{"ID", 29, 95, -9, 138, 5, "Asia/Jakarta", 0, nil},
	{"RU", 28, 28, 46, 150, 70, "Europe/Moscow", 0, nil},
	{"CA", 25, -128, 43, -60, 68, "America/Toronto", 0, nil},
	{"TH", 22, 98, 6, 105, 20, "Asia/Bangkok", 0, nil},
	{"IR", 20, 45, 26, 61, 39, "Asia/Tehran", 0, nil},
	{"PK", 18, 62, 24, 75, 36, "Asia/Karachi", 0, nil},
	{"AU", 17, 115, -38, 153, -13, "Australia/Sydney", 0, nil},
	{"DE", 16, 6, 47.5, 15, 54.8, "Europe/Berlin", 0, nil},
	{"FR", 14, -4, 43, 8, 50.5, "Europe/Paris", 0, nil},
	{"FI", 14, 21, 60, 31, 69, "Europe/Helsinki", 0, nil},
	{"SE", 13, 12, 56, 23, 68, "Europe/Stockholm", 0, nil},
	{"BR", 13, -70, -30, -36, 2, "America/Sao_Paulo", 0, nil},
	{"PH", 13, 118, 6, 126, 18, "Asia/Manila", 0, nil},
	{"JP", 12, 131, 32, 145, 45, "Asia/Tokyo", 0, nil},
	{"IT", 12, 7, 37, 18, 46.5, "Europe/Rome", 0, nil},
	{"NP", 11, 80, 26.5, 88, 30, "Asia/Kathmandu", 0, nil},
	{"GB", 11, -6, 50, 1.5, 58.5, "Europe/London", 0, nil},
	{"AF", 10, 61, 30, 72, 38, "Asia/Kabul", 0, nil},
	{"VN", 10, 103, 9, 109, 23, "Asia/Ho_Chi_Minh", 0, nil},
	{"MA", 10, -12, 28, -1, 35.8, "Africa/Casablanca", 0, nil},
	{"CO", 10, -78, -3, -68, 12, "America/Bogota", 0, nil},
	{"ES", 9, -9, 36.5, 3, 43.5, "Europe/Madrid", 0, nil},
	{"PL", 9, 14.5, 49.2, 23.8, 54.5, "Europe/Warsaw", 0, nil},
	{"ZA", 8, 18, -34, 32, -23, "Africa/Johannesburg", 0, nil},
	{"NZ", 6, 167, -46.5, 178, -35, "Pacific/Auckland", 0, nil},
	{"AT", 5, 9.8, 46.6, 17, 48.8, "Europe/Vienna", 0, nil},
	{"CH", 5, 6, 46, 10.3, 47.7, "Europe/Zurich", 0, nil},
	{"NL", 2, 3.5, 51, 7, 53.4, "Europe/Amsterdam", 0, nil},
	{"FJ", 0.6, 177, -19, 181, -16, "Pacific/Fiji", 0, nil},
	{"VA", 0.005, 12.446, 41.9, 12.458, 41.907, "Europe/Vatican", 0, nil},
	{"AQ", 2, -180, -89, 180, -66, "Antarctica/Troll", 0, nil},
}

// smallLands lists the other countries; their positions are random.
const smallLands = `AD AE AG AI AL AM AO AR AS AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BS BT BW BY BZ CD CF CG CI CK CL CM CR CU CV
CW CY CZ DJ DK DM DO DZ EC EE EG EH ER ET FK FM FO GA GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU IE IL IM IQ IS
JE JM JO KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MC MD ME MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MY
MZ NA NC NE NF NG NI NR NU OM PA PE PF PG PM PN PR PS PT PW PY QA RE RO RS RW SA SB SC SD SG SH SI SK SL SM SN SO SR SS ST SV SY SZ
TC TD TG TJ TK TL TM TN TO TR TT TV TW TZ UA UG UY UZ VC VE VG VI VU WF WS XK YE YT ZM ZW`

func makeLands(rng *rand.Rand) []land {
	list := append([]land(nil), landTable...)
	for i, code := range strings.Fields(smallLands) {
		// The weights are 270 thousandths in total, and decrease from the first country. The size
		// of a country follows from its weight.
		weight := 270 * 0.985 / 66 * math.Pow(0.985, float64((i*61)%200))
		half := math.Sqrt(weight) * (0.3 + 1.2*rng.Float64())
		lon, lat := rng.Float64()*340-170, rng.Float64()*100-45
		list = append(list, land{
			code:   code,
			weight: weight,
			west:   lon - half,
			south:  lat - half*0.7,
			east:   lon + half,
			north:  lat + half*0.7,
			zone:   "Etc/UTC",
		})
	}
	for i := range list {
		c := &list[i]
		c.number = uint64(i)
		for range 3 + int(c.weight*20) {
			c.cities = append(c.cities, city{
				c.west + (c.east-c.west)*rng.Float64(), c.south + (c.north-c.south)*rng.Float64(),
				0.01 + 0.25*rng.Float64()*rng.Float64(),
			})
		}
	}
	return list
}

// These are the words of which names are composed.
var (
	firstWords = strings.Fields("San Santa Saint Bad New Old Upper Lower Great Little Nova Novo El La Los Al Ban Kampung Dar Sankt")
	lastWords  = []string{"am See", "de Cima", "del Monte", "sur Mer", "upon Water", "di Sopra", "Creek", "Junction", "Heights",
		"Colony", "Estate", "Nueva"}
	endings = []string{"", "", "a", "berg", "ton", "ville", "dorf", "abad", "pur", "sk", "ov", "ia", "an", "ino", "eda",
		"heim", "shan", "nik"}
	syllables = strings.Fields(`ka ri mo ta len ber wal dor ham nor vi sa lu gan pe tro kol zu mar hin del ros ten bri fal gu chi wen
		lor das mi ra ne to si bel cor du fe gil hu ja kin lam mon nas ol par qui rud sel tam ur ves wick xi yar zam ö ü é ã ñ ç å ø ı š`)
	kinds = map[byte][]string{
		'S': {"School", "Church", "Hotel", "Farm", "Station", "Hospital", "Temple", "Dam", "Cemetery"},
		'H': {"Creek", "River", "Lake", "Spring", "Brook", "Pond", "Bay"},
		'T': {"Hill", "Mountain", "Island", "Ridge", "Point", "Valley"},
		'L': {"Park", "Area", "Field", "Ranch"},
		'A': {"District", "County", "Province", "Municipality"},
		'R': {"Road", "Trail"},
		'V': {"Forest", "Wood"},
		'U': {"Seamount", "Bank"},
	}
	scripts = [][]string{
		strings.Fields("ka ro mi la ten vor"),
		strings.Fields("ка ро ми ла тен вор ский"),
		strings.Fields("卡 罗 米 拉 城 山 新 州"),
		strings.Fields("كا رو مي لا تن"),
		strings.Fields("カ ロ ミ ラ テン"),
		strings.Fields("का रो मी ला तेन पुर"),
	}
	foldings = strings.NewReplacer("ö", "o", "ü", "u", "é", "e", "ã", "a", "ñ", "n", "ç", "c", "å", "a", "ø", "o", "ı", "i", "š", "s")
)

func toASCII(s string) string { return foldings.Replace(s) }
